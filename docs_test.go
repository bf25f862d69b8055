package arbiter_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
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
	same(t, "docs/lifecycle.md", func(string) string { return b.String() })
}

// documents is held while one is read and written anew: several tests write their part of the same one.
var documents sync.Mutex

// same wants a document to be what change makes of it.
func same(t *testing.T, file string, change func(text string) string) {
	t.Helper()
	documents.Lock()
	defer documents.Unlock()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := change(string(got))
	switch {
	case want == string(got):
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test -run %s . -update", file, t.Name())
	}
}

// block is change for the parts of a document that stand between two marks; there is at least one.
func block(t *testing.T, marks *regexp.Regexp, change func(part string) string) func(text string) string {
	t.Helper()
	return func(text string) string {
		t.Helper()
		if !marks.MatchString(text) {
			t.Errorf("nothing matches %s", marks)
		}
		return marks.ReplaceAllStringFunc(text, change)
	}
}

// The pictures in the documents are frames of the program, taken from the golden files of the screens.
func TestDocs_pictures(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`(?s)<!-- picture: (\S+) -->\n.*?<!-- end of picture -->`)
	for _, file := range []string{"README.md", "docs/guide.md"} {
		same(t, file, block(t, marker, func(part string) string {
			golden := marker.FindStringSubmatch(part)[1]
			return "<!-- picture: " + golden + " -->\n```\n" + frame(t, golden) + "```\n<!-- end of picture -->"
		}))
	}
}

// The fields of a search in the guide are those of the program.
func TestDocs_searchFields(t *testing.T) {
	t.Parallel()
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
	marks := regexp.MustCompile(`(?s)<!-- search fields -->.*?<!-- end of search fields -->`)
	same(t, "docs/guide.md", block(t, marks, func(string) string { return b.String() }))
}

// The conversation in docs/plain.md is what the program said in its test.
func TestDocs_conversation(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`(?s)<!-- conversation: (\S+) -->\n.*?<!-- end of conversation -->`)
	same(t, "docs/plain.md", block(t, marker, func(part string) string {
		file := marker.FindStringSubmatch(part)[1]
		said, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- conversation: " + file + " -->\n```\n" + strings.TrimRight(string(said), " \n") + "\n```\n<!-- end of conversation -->"
	}))
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
