package codex

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

// record keeps raw output as a transcript of the mode, when -update is given.
func record(t *testing.T, mode string) func(name string, raw []byte) {
	t.Helper()
	if !*update {
		return nil
	}
	return func(name string, raw []byte) {
		file := filepath.Join("testdata", mode, strings.ReplaceAll(name, " ", "-")+".jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
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
	for mode, understand := range map[string]func([]byte) event{string(ModeServer): decode, string(ModeExec): decodeExec} {
		agenttest.Transcripts(t, filepath.Join("testdata", mode, "*.jsonl"), 5, *update, func(line []byte) string {
			e := understand(line)
			if e.kind == isUnknown {
				return ""
			}
			return words(&e)
		})
	}
}

// words are an event on one line.
func words(e *event) string {
	var b strings.Builder
	add := func(name string, value any) {
		if s := fmt.Sprint(value); s != "" && s != "0" && s != "{0 0 0 0}" {
			fmt.Fprintf(&b, " %s=%q", name, s)
		}
	}
	add("text", e.text)
	add("reply", e.reply)
	add("thread", e.thread)
	add("turn", e.turn)
	add("model", e.model)
	add("what", e.item.what)
	add("begins", e.item.begins())
	add("ends", e.item.ends())
	add("total", e.total)
	add("last", e.last)
	add("id", string(e.id))
	add("method", e.method)
	add("ask", e.ask.Command)
	add("status", e.status)
	if e.trouble != nil {
		add("trouble", e.trouble.Error().Error())
	}
	return string(e.kind) + b.String()
}

func FuzzDecode(f *testing.F) {
	for _, mode := range []Mode{ModeServer, ModeExec} {
		files, err := filepath.Glob(filepath.Join("testdata", string(mode), "*.jsonl"))
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
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, e := range []event{decode(line), decodeExec(line)} {
			for _, text := range []string{e.text, e.item.begins(), e.item.ends()} {
				if len(text) > 8000 || strings.ContainsAny(text, "\r\n") || strings.ToValidUTF8(text, "") != text {
					t.Errorf("text %q of %q", text, line)
				}
			}
			if e.total.input < 0 || e.total.output < 0 || e.last.input < 0 {
				t.Errorf("usage %+v of %q", e.total, line)
			}
			if e.kind == isRequest && len(e.id) == 0 {
				t.Errorf("a request without an id: %q", line)
			}
			if e.trouble != nil && e.trouble.Error().Text == "" {
				t.Errorf("a trouble without words: %q", line)
			}
		}
	})
}
