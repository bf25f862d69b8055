package amp

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatchPath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, file string
		want          bool
	}{
		{"main.go", "main.go", true},
		{"main.go", "a/main.go", false},
		{"*.go", "main.go", true},
		{"*.go", "a/main.go", false},
		{"**/*.go", "main.go", true},
		{"**/*.go", "a/b/main.go", true},
		{"**", "a/b", true},
		{"a/**", "a/b/c", true},
		{"a/**", "ab/c", false},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c/y", false},
		{"a/**/b/**/c", "a/x/b/y/z/c", true},
		{"a/*", "a/b/c", false},
		{"a/", "a/b/c", true},
		{"a", "a/b/c", true},
		{"a", "ab", false},
		{"src/*", "src/a/b", false},
		{"./src/**", "src/a", true},
		{"/src/**", "src/a", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"[a-c]x", "bx", true},
		{"[", "[", false},
		{"", "a", false},
		{"a", "", false},
		{"docs/Ünï *.md", "docs/Ünï cöde.md", true},
		{"Main.go", "main.go", false},
		{"**/../secret", "secret", false},
	} {
		if got := MatchPath(tc.pattern, tc.file); got != tc.want {
			t.Errorf("MatchPath(%q, %q) = %v, want %v", tc.pattern, tc.file, got, tc.want)
		}
	}
}

// TestMatchPath_many stars do not take exponential time, which a plan written by a model could ask for.
func TestMatchPath_manyStars(t *testing.T) {
	t.Parallel()
	if MatchPath(strings.Repeat("**/a/", 60)+"b", strings.Repeat("a/", 200)+"c") {
		t.Error("matched")
	}
}

// TestMatchPath_naive compares with the plain recursive definition.
func TestMatchPath_naive(t *testing.T) {
	t.Parallel()
	var naive func(p, n []string) bool
	naive = func(p, n []string) bool {
		switch {
		case len(p) == 0:
			return len(n) == 0
		case p[0] == "**":
			return naive(p[1:], n) || len(n) > 0 && naive(p, n[1:])
		case len(n) == 0:
			return false
		}
		ok, _ := path.Match(p[0], n[0])
		return ok && naive(p[1:], n[1:])
	}
	part := rapid.SampledFrom([]string{"a", "b", "*", "**", "a*", "?"})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "c"})
	rapid.Check(t, func(r *rapid.T) {
		p, n := rapid.SliceOfN(part, 1, 5).Draw(r, "pattern"), rapid.SliceOfN(name, 1, 6).Draw(r, "file")
		want := naive(p, n)
		if last := p[len(p)-1]; !strings.ContainsAny(last, "*?") {
			want = want || naive(append(p[:len(p):len(p)], "**"), n)
		}
		if got := MatchPath(strings.Join(p, "/"), strings.Join(n, "/")); got != want {
			r.Fatalf("MatchPath(%v, %v) = %v, want %v", p, n, got, want)
		}
	})
}
