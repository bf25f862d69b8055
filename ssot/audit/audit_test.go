package audit

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
)

const message = `{"message_id":"msg-1","agent":{"name":"goal_agent","type":"governance"},"input":{"source":"objective_agent","content":["a", {"b": 1}]},
"output":{"content":{},"content_type":"goals"},"status":{"code":"success","message":"2 goals"},"error":{"has_error":false,"error_code":null},
"metadata":{"session_id":"session-1"},"resources":{"source_refs":[{"ref_id":"src_1","url":"https://example.org/v"},{"ref_id":"src_2","url":"b"}],
"storage_refs":[{"ref_id":"store_1","status":"pending"}],"derived_refs":[]},
"audit":{"compliance_notes":"fine","governance_files_consulted":["docs/a.md","docs/b.md"],"reasoning":"r"}}`

var singapore = time.FixedZone("+08", 8*3600)

// entry is a chain entry of a message.
func entry(seq uint64, c amp.Chain) amp.Entry {
	return amp.Entry{Seq: seq, Record: amp.Record{Kind: amp.KindChain, TaskID: "T-2026-001", At: time.Date(2026, 2, 26, 20, 0, 1, 0, time.UTC), Body: amp.EncodeBody(c)}}
}

func at(hour int) *time.Time {
	t := time.Date(2026, 2, 27, hour, 14, 2, 0, singapore)
	return &t
}

// TestFormat_SEN_072_SEN_073: the lines of an entry, byte by byte.
func TestFormat_SEN_072_SEN_073(t *testing.T) {
	t.Parallel()
	good := `[TIMESTAMP: 04:14:02]
[AGENT: goal_agent]
[INPUT SOURCE: objective_agent]
[INPUT]: ["a",{"b":1}]
[OUTPUT TYPE: goals]
[STATUS: success] 2 goals
[RESOURCES]: source_refs=[src_1:https://example.org/v, src_2:b], storage_refs=[store_1:pending], derived_refs=[]
[COMPLIANCE NOTES]: fine
[GOVERNANCE FILES]: [docs/a.md, docs/b.md]
[MESSAGE_ID: msg-1]
[SESSION_ID: session-1]
---
`
	for name, tc := range map[string]struct {
		chain      amp.Chain
		file, want string
	}{
		"SEN-073 S06 S07 a good one": {amp.Chain{Message: amp.Raw(message), ExecutedAt: at(4)}, "20260227.log", good},
		"S07 without a time of its own": {
			amp.Chain{Message: amp.Raw(message)}, "20260226.log", strings.Replace(good, "04:14:02", "20:00:01", 1),
		},
		"S08 an error": {
			amp.Chain{ExecutedAt: at(4), Message: amp.Raw(strings.Replace(message, `"has_error":false,"error_code":null`,
				`"has_error":true,"error_code":"TIMEOUT","error_message":"late","retry_count":2,"recoverable":true`, 1))},
			"20260227.log", strings.Replace(good, "2 goals\n", "2 goals\n[ERROR: TIMEOUT] late (retry_count=2, recoverable=true)\n", 1),
		},
		"SEN-040 without audit": {
			amp.Chain{
				ExecutedAt: at(4), Message: amp.Raw(message[:strings.Index(message, ",\n\"audit\"")] + "}"),
				Problems: []amp.Problem{{Rule: "SEN-040", Field: "audit", Message: "is missing"}},
			},
			"20260227.log", strings.Replace(strings.Replace(good, "fine", "audit: is missing (SEN-040)", 1), "[docs/a.md, docs/b.md]", "[]", 1),
		},
		"no text forges a line": {
			amp.Chain{ExecutedAt: at(4), Message: amp.Raw(strings.Replace(message, "2 goals", `x\r\n---\n[AGENT: admin]\u2028\u001b[2J`, 1))},
			"20260227.log", strings.Replace(good, "2 goals", `x\r\n---\n[AGENT: admin]\u2028\u001b[2J`, 1),
		},
		"SEN-001 no message": {
			amp.Chain{Stage: amp.StageGoal, Received: "prose", Problems: []amp.Problem{{Rule: "SEN-001", Message: "is no valid JSON"}}},
			"20260226.log",
			"[TIMESTAMP: 20:00:01]\n[AGENT: goal_agent]\n[INPUT SOURCE: ]\n[INPUT]: \n[OUTPUT TYPE: ]\n[STATUS: ] \n" +
				"[RESOURCES]: source_refs=[], storage_refs=[], derived_refs=[]\n[COMPLIANCE NOTES]: is no valid JSON (SEN-001)\n" +
				"[GOVERNANCE FILES]: []\n[MESSAGE_ID: ]\n[SESSION_ID: ]\n---\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := entry(1, tc.chain)
			c, err := amp.DecodeBody[amp.Chain](&e)
			if err != nil {
				t.Fatal(err)
			}
			file, text := Format(&e, &c)
			if diff := cmp.Diff(tc.want, text); diff != "" || file != tc.file {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// journal is n entries of which every second one is a chain entry; they belong to two files in turns.
func journal(n int) []amp.Entry {
	out := make([]amp.Entry, n)
	for i := range out {
		seq := uint64(i + 1)
		out[i] = amp.Entry{Seq: seq, Record: amp.Record{Kind: amp.KindTurn, Body: []byte("{}")}}
		if i%2 == 0 {
			out[i] = entry(seq, amp.Chain{Message: amp.Raw(strings.Replace(message, "msg-1", "msg-"+string(rune('a'+i)), 1)), ExecutedAt: at(4 + i%3*10)})
		}
	}
	return out
}

// read are the logs by name.
func read(t interface{ Fatal(...any) }, home string) map[string]string {
	files, err := filepath.Glob(filepath.Join(home, "system", "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(data)
	}
	return out
}

// expected is what the logs of a journal are.
func expected(entries []amp.Entry) map[string]string {
	out := map[string]string{}
	for i := range entries {
		if c, err := amp.DecodeBody[amp.Chain](&entries[i]); err == nil && entries[i].Kind == amp.KindChain {
			file, text := Format(&entries[i], &c)
			out[file] += text
		}
	}
	return out
}

var errCrash = errors.New("the process died")

// crashing lets the nth write fail: a replaced cursor is there or not, of an appended text any part may be.
func crashing(w *Writer, n, part int) {
	dead := false
	w.save = func(file string, data []byte) error {
		if n--; dead || n < 0 {
			if !dead && part%2 == 0 {
				_ = replace(file, data)
			}
			dead = true
			return errCrash
		}
		return replace(file, data)
	}
	w.add = func(file string, data []byte) error {
		if n--; dead || n < 0 {
			if !dead {
				_ = appendTo(file, data[:min(part, len(data))])
			}
			dead = true
			return errCrash
		}
		return appendTo(file, data)
	}
}

// TestCrash_SEN_070_SEN_071_SEN_074: whenever the process dies, and however often, each entry is in the logs once, in order.
func TestCrash_SEN_070_SEN_071_SEN_074(t *testing.T) {
	t.Parallel()
	entries := journal(12)
	want := expected(entries)
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		home, err := os.MkdirTemp(dir, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(home)
		for range rapid.IntRange(0, 6).Draw(rt, "crashes") {
			w, err := Open(home)
			if err != nil {
				rt.Fatal(err)
			}
			crashing(w, rapid.IntRange(0, 9).Draw(rt, "write"), rapid.IntRange(0, 700).Draw(rt, "part"))
			for seq := w.After(); seq < uint64(len(entries)); { // pages of any size
				n := min(seq+uint64(rapid.IntRange(1, 5).Draw(rt, "page")), uint64(len(entries)))
				if err := w.Take(entries[seq:n]); err != nil {
					if !errors.Is(err, errCrash) {
						rt.Fatal(err)
					}
					break
				}
				seq = n
			}
		}
		w, err := Open(home)
		if err != nil {
			rt.Fatal(err)
		}
		if err := w.Take(entries[w.After():]); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, read(rt, home)); diff != "" {
			rt.Fatalf("logs (-want +got):\n%s", diff)
		}
	})
}

// TestTake_again: an error in the middle of an entry is made good by the same writer.
func TestTake_again(t *testing.T) {
	t.Parallel()
	home, entries := t.TempDir(), journal(6)
	w, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	full := true
	w.add = func(file string, data []byte) error {
		if full {
			_ = appendTo(file, data[:20])
			return errors.New("no space left on device")
		}
		return appendTo(file, data)
	}
	if err := w.Take(entries); err == nil {
		t.Fatal("no error")
	}
	full = false
	if err := w.Take(entries); err != nil {
		t.Fatal(err)
	}
	if err := w.Take(entries); err != nil { // what was taken is skipped
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected(entries), read(t, home)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// TestOpen_broken: a cursor that cannot be read is no new beginning.
func TestOpen_broken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"done":3,"pending":{"seq":4,"file":"../../x","offset":0}}`, `{"done":-1}`} {
		home := t.TempDir()
		if err := os.MkdirAll(filepath.Join(home, "system"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, "system", "audit.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(home); err == nil || !strings.Contains(err.Error(), "written anew from the journal") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRun: a trouble with the files is waited for, and the end of the journal ends it.
func TestRun(t *testing.T) {
	t.Parallel()
	home, entries := t.TempDir(), journal(4)
	system := filepath.Join(home, "system")
	if err := os.WriteFile(system, nil, 0o600); err != nil { // in the way of the folder
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan bool)
		tries := 0
		go func() {
			defer close(done)
			Run(t.Context(), home, func(_ context.Context, after uint64, batch func([]amp.Entry) error) error {
				if tries++; tries == 1 {
					return errors.New("the journal cannot be read")
				}
				return batch(entries[after:])
			}, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if err := os.Remove(system); err != nil {
			t.Fatal(err)
		}
		<-done
	})
	if diff := cmp.Diff(expected(entries), read(t, home)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}
