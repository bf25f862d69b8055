package amp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

var ruleID = regexp.MustCompile(`\b(?:AMP-\d{3}|A[0-2]\d)\b`)

// TestRules_named: every rule and decision of the protocol is named by at least one test or transcript somewhere in the repository.
// rules.txt holds the ids that exist.
func TestRules_named(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	named := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, id := range ruleID.FindAllString(string(data), -1) {
			named[id] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := ruleIDs(t)
	for _, id := range all {
		if !named[id] {
			t.Errorf("no test names %s", id)
		}
	}
	for id := range named {
		if !slices.Contains(all, id) {
			t.Errorf("a test names %s, which is no rule", id)
		}
	}
}

func ruleIDs(t *testing.T) (ids []string) {
	t.Helper()
	for l := range strings.Lines(string(readFile(t, "rules.txt"))) {
		id, text, ok := strings.Cut(strings.TrimSpace(l), " ")
		if !ok || len(text) < 10 || amp.RuleText(id) != text || slices.Contains(ids, id) {
			t.Errorf("%q is no rule with its own id and sentence", l)
		}
		ids = append(ids, id)
	}
	return ids
}

// refusing finds the rules that code refuses by.
var refusing = regexp.MustCompile(`(?:Rule: +|refuse\(|invalid\(|missing: +|rule: +|, )"(AMP-\d{3}|A\d\d|expects|checklist|command|plan)"[,}]`)

// TestRuleText: what a refusal can name has a sentence, and a meaning that is more than the problem's own words (AMP-002).
func TestRuleText(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	found := map[string]bool{}
	for _, dir := range []string{"amp", "coordinator"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			for _, m := range refusing.FindAllStringSubmatch(string(readFile(t, f)), -1) {
				found[m[1]] = true
			}
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d rules were found in the code", len(found))
	}
	for id := range found {
		if amp.RuleText(id) == "" {
			t.Errorf("the code refuses by %s, which has no sentence", id)
		}
		r := amp.Refusal{Problems: []amp.Problem{{Rule: id, Message: "own words"}}}
		if r.Means() == "own words" {
			t.Errorf("the code refuses by %s, which has no meaning", id)
		}
	}
	strange := amp.Refusal{Problems: []amp.Problem{{Rule: "XYZ-1", Message: "own words"}}}
	if got := strange.Means(); got != "own words" || amp.RuleText("XYZ-1") != "" {
		t.Errorf("an unknown rule means %q", got)
	}
	if empty := (&amp.Refusal{}); empty.Means() == "" || empty.Rule() != "" {
		t.Errorf("a refusal without problems means %q by rule %q", empty.Means(), empty.Rule())
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
