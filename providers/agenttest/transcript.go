package agenttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Transcripts compares what an adapter understands of the recorded lines of real programs with the .events file beside each recording that
// the pattern finds; with update it writes them. understand puts one line into words, "" for one that means nothing. There must be at least
// so many recordings.
func Transcripts(t *testing.T, pattern string, least int, update bool, understand func(line []byte) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("%d transcripts of %s, %v", len(files), pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for line := range bytes.Lines(raw) {
				if words := understand(line); words != "" {
					got.WriteString(words + "\n")
				}
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".events"
			if update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%v; understood\n%s\nwant\n%s", err, got.Bytes(), want)
			}
		})
	}
}
