package arbiter_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// span are the rules with these numbers, in three digits with a prefix as BUS, or in two with a letter.
func span(prefix string, from, to int, gone ...int) (ids []string) {
	form := "%s-%03d"
	if len(prefix) == 1 {
		form = "%s%02d"
	}
	for n := from; n <= to; n++ {
		if !slices.Contains(gone, n) {
			ids = append(ids, fmt.Sprintf(form, prefix, n))
		}
	}
	return ids
}

// Each rule of the bus and of the events is named by a test.
func TestRules_named(t *testing.T) {
	t.Parallel()
	rules := slices.Concat(
		span("BUS", 1, 3), span("BUS", 10, 22), span("BUS", 30, 49), span("BUS", 60, 74), span("B", 1, 15),
		span("EVT", 1, 12), []string{"EVT-020"}, span("EVT", 40, 64), span("EVT", 70, 74), span("EVT", 80, 85), span("EVT", 90, 101), []string{"EVT-103", "EVT-104"},
		span("E", 1, 8),
	)
	id := regexp.MustCompile(`\b(?:BUS|EVT)-\d{3}\b|\b[BE]\d{2}\b`)
	// in the name of a test an id has no hyphen, and its neighbours are no border of a word
	inName, inShortName := regexp.MustCompile(`_(BUS|EVT)_?(\d{3})`), regexp.MustCompile(`_([BE]\d{2})`)
	named := map[string]bool{}
	for _, dir := range []string{"providers/bus", "server", "ssot/events", "cmd/arbiter"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") {
				return err
			}
			text, err := os.ReadFile(path)
			plain := inName.ReplaceAllString(string(text), " $1-$2 ")
			for _, found := range id.FindAllString(inShortName.ReplaceAllString(plain, " $1 "), -1) {
				named[found] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range rules {
		if !named[rule] {
			t.Errorf("%s: no test names it", rule)
		}
	}
}
