package claude

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/providers/agenttest"
)

var update = flag.Bool("update", false, "keep the transcripts of the real program, and what is understood of them")

// record keeps raw output as a transcript, when -update is given.
func record(t *testing.T) func(name string, raw []byte) {
	t.Helper()
	if !*update {
		return nil
	}
	return func(name string, raw []byte) {
		file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".jsonl")
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestTranscripts: what was understood of the recorded lines of the real program.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	agenttest.Transcripts(t, "testdata/*.jsonl", 5, *update, func(line []byte) string {
		e := decode(line)
		if e.kind == isUnknown {
			return ""
		}
		return words(&e)
	})
}

// words are an event on one line.
func words(e *event) string {
	var b strings.Builder
	add := func(name string, value any) {
		if s := fmt.Sprint(value); s != "" && s != "0" && s != "[]" {
			fmt.Fprintf(&b, " %s=%q", name, s)
		}
	}
	add("text", strings.Join(e.text, " | "))
	add("session", e.session)
	add("model", e.model)
	add("id", e.id)
	add("subtype", e.subtype)
	add("ask", e.ask.Type)
	add("command", e.ask.Command)
	add("paths", e.ask.Paths)
	add("problem", e.problem)
	if e.kind == isResult {
		r := &e.result
		add("words", r.words)
		add("value", string(r.value))
		add("denied", r.denied)
		add("usage", fmt.Sprintf("%+v", r.usage))
		if t := r.trouble(); t != nil {
			add("trouble", t.Error().Error())
		}
	}
	return string(e.kind) + b.String()
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			if len(line) < 2000 {
				f.Add(line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e := decode(line)
		for _, text := range e.text {
			if len(text) > 8000 || strings.ContainsAny(text, "\r\n") || strings.ToValidUTF8(text, "") != text {
				t.Errorf("text %q of %q", text, line)
			}
		}
		if u := e.result.usage; u.Input < 0 || u.Output < 0 || u.CostUSD < 0 {
			t.Errorf("usage %+v of %q", u, line)
		}
		if e.kind == isResult && e.result.failed && e.result.trouble().Error().Text == "" {
			t.Errorf("a failed turn without words: %q", line)
		}
	})
}
