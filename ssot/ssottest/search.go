package ssottest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
)

// Searches are what people may ask of the facts of Any and of testSearch: every field, in the language of [amp.ParseSearch].
var Searches = []string{
	"hello", "HELLO", "hel", "ello", `"hello"`, `"hel"`, `"say hello"`, `"say  hello"`, "say -hello", "-say", `-"say hello"`, "e", "ä",
	"größe", "GRÖSSE", "会话", "话", `"会话没有"`, "会没", "straße", "session", "breath", "breathsession", "SessionManager.swift:87",
	"manager.swift", "T-2026-003", "submit-3", "100%_", "%_", "→", "0123456789abcdef", `"0123456789abcdef0123456789abcdef01234567"`, "0.95",
	"kind:message", "kind:plan kind:refusal", "-kind:turn", "type:task_result", "type:task_dispatch type:escalation", "from:executor",
	"from:scripted", "from:ADA", "to:executor", "agent:scripted", "agent:planner", "agent:nobody", "role:system", "task:T-2026-003",
	"task:T-2026-001 task:T-2026-002", "status:complete", "status:accepted", "status:ok", "status:executing", "decision:rejected",
	"severity:critical", "severity:major", "rule:AMP-001", "rule:amp-001 -kind:ack", "is:held", "is:late", "is:refused", "-is:refused",
	"since:2026-03-01", "until:2026-02-28", "since:2026-03-01T09:00:30Z", "until:2026-03-01T09:00:30Z hello",
	"since:2026-03-01T09:00:10Z until:2026-03-01T09:00:40Z", "seq:3..9 hello", "seq:7", "hello seq:..5", "kind:turn from:executor text",
	"work type:task_result", "nonsense", "is:refused nonsense", "nowhere to be found", "task:T-2026-003 hello",
}

// Search parses a search of a test. Its moment is a day after Start.
func Search(t testing.TB, text string) amp.Filter {
	t.Helper()
	f, err := amp.ParseSearch(text, Start.Add(24*time.Hour))
	if err != nil {
		t.Fatalf("search %q: %v", text, err)
	}
	return f
}

// Hard are facts whose text is hard to find: identifiers, other scripts, escapes, no JSON at all.
func Hard() []amp.Record {
	verdict := &amp.Verdict{
		Decision: amp.Rejected, Confidence: 0.95,
		CriteriaResults: []amp.CriterionResult{{Criterion: "it keeps the session", Evidence: "→ line 87"}},
		Issues: []amp.Issue{{
			Severity: amp.IssueMajor, File: "src/BreathSessionManager.swift", Line: 87, SuggestedFix: "Say hello.",
			Description: "SessionManager.swift:87 holds no session. 会话没有保存。 Größe",
		}},
	}
	id := amp.NewMsgID(amp.ReviewRequest, Task(3), Start, nil)
	v := message(amp.Reviewer, amp.Coordinator, Task(3), Start.Add(time.Second), true, verdict, id)
	return []amp.Record{
		v, Raw("escaped", "", []byte(`{"k":"Gr\u00f6\u00dfe \u4f1a\u8bdd","hello":"100%_","deep":[{"n":-0.95}]}`)),
		Raw("no-json", "", []byte("Straße KELVIN \u212a ÄÖÜ 50%_off\x00hidden Text")), Raw("hard-bytes", "", []byte{0xff, 'A', 0xfe}),
		Raw("empty", "", []byte{}), Note("note", Task(3), "会话 say \"hello\" → work"), Refusal("refused", Task(3), []byte(`{"a":"say hello"}`)),
	}
}

// testSearch compares what a store finds with what Match says of each entry.
func testSearch(t *testing.T, log ssot.Log) {
	fill(t, log)
	at := Start
	for i, r := range append(Hard(), Dispatch(Task(1), Start), Result(Task(1), Start), Alarm(Task(2), Start)) {
		r.At = at.Add(time.Duration(i) * 7 * time.Second)
		appendAll(t, log, r)
	}
	CheckSearch(t, log, Searches...)
}

// CheckSearch compares what a store finds with what Match says of each entry: newest first and oldest first, page by page, and
// counted.
func CheckSearch(t testing.TB, log ssot.Log, searches ...string) {
	t.Helper()
	all, err := All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range searches {
		for _, newest := range []bool{true, false} {
			f := Search(t, text)
			f.Newest = newest
			want := seqs(selected(all, f))
			for _, limit := range []int{0, 4} {
				f.Limit = limit
				if got, err := paged(t, log, f, want); err != nil || !slices.Equal(got, want) {
					t.Errorf("search %q, newest %v, limit %d: %v (-want +got):\n%s", text, newest, limit, err, cmp.Diff(want, got))
				}
			}
		}
	}
}

// paged reads what a filter selects page by page, as a person goes through it.
func paged(t testing.TB, log ssot.Log, f amp.Filter, want []uint64) (got []uint64, err error) {
	for range len(want) + 2 {
		found, err := ssot.Find(t.Context(), log, f)
		if err != nil {
			return nil, err
		}
		read, err := log.Read(t.Context(), f)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(read, found.Entries) {
			return nil, fmt.Errorf("what Find answers is not what Read does:\n%s", cmp.Diff(read, found.Entries))
		}
		left := len(want) - len(got)
		if found.More != (left > len(read)) || found.Count > left || !found.Capped && found.Count != left || found.Count < len(read) {
			return nil, fmt.Errorf("more %v, count %d, capped %v with %d left", found.More, found.Count, found.Capped, left)
		}
		if got = append(got, seqs(read)...); !found.More {
			return got, nil
		}
		if f.Newest {
			f.Before = got[len(got)-1]
		} else {
			f.After = got[len(got)-1]
		}
	}
	return got, fmt.Errorf("the pages do not end")
}

func seqs(entries []amp.Entry) (out []uint64) {
	for i := range entries {
		out = append(out, entries[i].Seq)
	}
	return out
}

// testSearchMany counts up to the cap, and finds what stands far back.
func testSearchMany(t *testing.T, log ssot.Log) {
	for from := 0; from < 2600; from += 650 {
		records := make([]amp.Record, 650)
		for i := range records {
			text := "hay"
			if n := from + i; n%130 == 7 {
				text = "hay needle"
			}
			records[i] = Note(fmt.Sprintf("n%d", from+i), Task(1+i%3), text)
			records[i].At = Start.Add(time.Duration(from+i) * time.Second)
		}
		appendAll(t, log, records...)
	}
	CheckSearch(t, log, "needle")
	for text, want := range map[string]ssot.Found{
		"hay":          {Count: ssot.MaxCount, Capped: true, More: true},
		"kind:command": {Count: ssot.MaxCount, Capped: true, More: true},
		"needle":       {Count: 20},
		"hay since:2026-03-01T09:10:00Z until:2026-03-01T09:20:00Z": {Count: 600, More: true},
		"hay seq:1..900": {Count: 900, More: true},
	} {
		f := Search(t, text)
		f.Limit = 50
		got, err := ssot.Find(t.Context(), log, f)
		if err != nil || got.More != want.More || got.Count != want.Count && !got.Capped || want.Capped && !got.Capped {
			t.Errorf("%q: %d entries, more %v, count %d, capped %v, %v; want %+v", text, len(got.Entries), got.More, got.Count, got.Capped, err, want)
		}
	}
}
