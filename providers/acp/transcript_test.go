package acp

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"arbiter/providers/agenttest"
)

var rewrite = flag.Bool("update", false, "keep the transcripts of the real programs, and what is understood of them")

// named are names that differ between runs.
var named = regexp.MustCompile(`\b(ses|msg)_[0-9A-Za-z]{20,}`)

// record keeps raw output as a transcript, when -update is given.
func record(t *testing.T, program string) func(name string, raw []byte) {
	t.Helper()
	if !*rewrite {
		return nil
	}
	return func(name string, raw []byte) {
		file := filepath.Join("testdata", program, strings.ReplaceAll(name, " ", "-")+".jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Error(err)
		}
		var kept bytes.Buffer
		for line := range bytes.Lines(raw) { // what goes to standard error is of no account
			if bytes.HasPrefix(line, []byte(`{"jsonrpc"`)) {
				kept.Write(named.ReplaceAll(line, []byte("${1}_1")))
			}
		}
		if kept.Len() == 0 { // it was ended before it said anything
			return
		}
		if err := os.WriteFile(file, kept.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestTranscripts: what was understood of the recorded lines of the real programs.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	agenttest.Transcripts(t, "testdata/*/*.jsonl", 10, *rewrite, func(line []byte) string {
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
		if s := fmt.Sprint(value); s != "" && s != "0" && s != "[]" && s != "false" {
			fmt.Fprintf(&b, " %s=%q", name, s)
		}
	}
	add("text", e.text)
	add("reply", e.reply)
	add("failed", e.failed)
	add("code", e.code)
	add("session", e.result.Session)
	add("loads", e.result.Capabilities.Load)
	add("mode", e.result.Modes.Current)
	add("model", e.result.Models.Current)
	add("stop", e.result.Stop)
	if e.result.usage.Tokens > 0 {
		add("usage", fmt.Sprintf("%+v", e.result.usage))
	}
	add("method", e.method)
	if e.kind == isCall || e.kind == isRequest {
		add("call", e.call.line())
		add("status", e.call.status)
	}
	if e.kind == isRequest {
		p := fill(e.ask, &e.call, "/work")
		add("type", p.Type)
		add("tool", p.Tool)
		add("command", p.Command)
		add("paths", p.Paths)
		add("reason", p.Reason)
		add("options", e.options)
	}
	return string(e.kind) + b.String()
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.jsonl")
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
	f.Add([]byte(`{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"Authentication required","data":{"details":"x"}}}`))
	f.Add([]byte(`{"id":"a","method":"session/request_permission","params":{"toolCall":{"kind":"execute","rawInput":{"command":["sh","-c","a 'b'"]}}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e := decode(line)
		if e.kind == isText && (len(e.text) > 8000 || strings.ContainsAny(e.text, "\r\n") || strings.ToValidUTF8(e.text, "") != e.text) {
			t.Errorf("text %q of %q", e.text, line)
		}
		if said := e.call.line(); len(said) > 8000 || strings.ContainsAny(said, "\r\n") || strings.ToValidUTF8(said, "") != said {
			t.Errorf("a line of a call %q of %q", said, line)
		}
		if u := e.result.usage; u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.CacheWrite < 0 || u.Tokens < 0 {
			t.Errorf("usage %+v of %q", u, line)
		}
		if p := fill(e.ask, &e.call, "/work"); e.kind == isRequest && e.method == askPermission && (p.Type == "" || p.Request == "") {
			t.Errorf("permission %+v of %q", p, line)
		}
		if e.kind == isRequest && len(e.id) == 0 {
			t.Errorf("a request without an id: %q", line)
		}
	})
}
