package tui

import (
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/tui/theme"
)

// TestTimeline_chain: each message of a planning chain has a row that says what became of it, what stands against it in quotation marks.
func TestTimeline_chain(t *testing.T) {
	t.Parallel()
	w := &window{}
	for i, c := range []amp.Chain{
		{Stage: amp.StageObjective, Agent: "thinker", Result: amp.ChainForwarded},
		{Stage: amp.StageGoal, Agent: "splitter", Result: amp.ChainForwarded, Repairs: []amp.Repair{{Rule: "SEN-060", Field: "metadata.request_id", From: amp.Raw(`"a"`), To: amp.Raw(`"b"`)}}},
		{Stage: amp.StagePlanning, Agent: "planner", Result: amp.ChainHeld, Problems: []amp.Problem{{Rule: "SEN-017", Field: "status.code", Message: `is "» ok «"`}}},
	} {
		e := amp.Entry{Seq: uint64(i + 1), Record: amp.Record{Kind: amp.KindChain, Actor: "planning", Body: amp.EncodeBody(c)}}
		w.entries, w.lines = append(w.entries, e), append(w.lines, describe(&e))
	}
	items := timeline(w, false, true, 0)
	if len(items) != 3 {
		t.Fatalf("%d rows", len(items))
	}
	for i, want := range []struct {
		what, from, text string
		role             theme.Role
	}{
		{"objective", "thinker", "forwarded", items[0].line.Role},
		{"goal", "splitter", `forwarded: «repaired metadata.request_id: "a" is now "b" (SEN-060)»`, theme.Time},
		{"planning", "planner", `held: «status.code: is "› ok ‹" (SEN-017)»`, theme.Danger},
	} {
		if l := items[i].line; l.What != want.what || l.From != want.from || l.Text != want.text || l.Role != want.role || strings.Contains(l.Text, "bytes") {
			t.Errorf("row %d = %+v", i, l)
		}
	}
}
