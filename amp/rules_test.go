package amp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var ruleID = regexp.MustCompile(`\b(?:AMP-\d{3}|A[0-2]\d)\b`)

// TestRules_named: every rule and decision of the protocol is named by at least one test or transcript somewhere in the repository.
// testdata/rules.txt holds the ids that exist.
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
	all := strings.Fields(string(readFile(t, "testdata/rules.txt")))
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
