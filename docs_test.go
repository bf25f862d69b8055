package arbiter_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"arbiter/amp"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// docs/lifecycle.md is drawn from the table in amp; it can not go stale.
func TestDocs_lifecycle(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# The life of a task\n\nDrawn from the table in `amp/lifecycle.go` by `go test -run TestDocs . -update`.\n\n```mermaid\n")
	b.WriteString(amp.Mermaid() + "```\n\n| command | can be given when the task is |\n|---|---|\n")
	for _, c := range []amp.CommandName{
		amp.Revise, amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign, amp.Split,
		amp.Accept, amp.Override, amp.Rollback, amp.Terminate, amp.Deliver,
	} {
		in := "not ended"
		if from := amp.AllowedIn(c); from != nil {
			in = strings.Trim(fmt.Sprint(from), "[]")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", c, in)
	}
	same(t, "docs/lifecycle.md", b.String())
}

func same(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: go test -run %s . -update", file, t.Name())
	}
}

// The pictures in the documents are frames of the program, taken from the golden files of the screens.
func TestDocs_pictures(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`(?s)<!-- picture: (\S+) -->\n.*?<!-- end of picture -->`)
	for _, file := range []string{"README.md", "docs/guide.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !marker.Match(text) {
			t.Errorf("%s has no picture", file)
		}
		same(t, file, marker.ReplaceAllStringFunc(string(text), func(m string) string {
			golden := marker.FindStringSubmatch(m)[1]
			return "<!-- picture: " + golden + " -->\n```\n" + frame(t, golden) + "```\n<!-- end of picture -->"
		}))
	}
}

// The fields of a search in the guide are those of the program.
func TestDocs_searchFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<!-- search fields -->\n| field | takes | finds |\n|---|---|---|\n")
	for _, f := range amp.SearchFields() {
		takes := f.Takes
		if len(f.Values) > 0 {
			takes = "`" + strings.Join(f.Values, "` `") + "`"
		}
		fmt.Fprintf(&b, "| `%s:` | %s | %s |\n", f.Name, takes, f.About)
	}
	b.WriteString("<!-- end of search fields -->")
	block := regexp.MustCompile(`(?s)<!-- search fields -->.*?<!-- end of search fields -->`)
	if !block.Match(text) {
		t.Fatal("docs/guide.md has no fields of a search")
	}
	same(t, "docs/guide.md", block.ReplaceAllLiteralString(string(text), b.String()))
}

// The conversation in docs/plain.md is what the program said in its test.
func TestDocs_conversation(t *testing.T) {
	t.Parallel()
	const file = "docs/plain.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	marker := regexp.MustCompile(`(?s)<!-- conversation: (\S+) -->\n.*?<!-- end of conversation -->`)
	found := marker.FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("%s has no conversation", file)
	}
	said, err := os.ReadFile(found[1])
	if err != nil {
		t.Fatal(err)
	}
	same(t, file, marker.ReplaceAllLiteralString(string(text),
		"<!-- conversation: "+found[1]+" -->\n```\n"+strings.TrimRight(string(said), " \n")+"\n```\n<!-- end of conversation -->"))
}

// frame is the text of a golden frame, without its styles.
func frame(t *testing.T, golden string) string {
	t.Helper()
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		row, isRow := strings.CutPrefix(strings.TrimRight(line, "\n"), "|")
		if row, whole := strings.CutSuffix(row, "|"); isRow && whole {
			b.WriteString(strings.TrimRight(row, " ") + "\n")
		}
	}
	return b.String()
}
