package tui

import (
	"context"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// forger changes what a session says of one entry.
type forger struct {
	*tuitest.Script
	seq    uint64
	change func(*amp.Entry)
}

func (f *forger) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	p, err := f.Script.Query(ctx, q)
	for i := range p.Entries {
		if p.Entries[i].Seq == f.seq {
			f.change(&p.Entries[i])
		}
	}
	return p, err
}

// The chain of the entry that is shown is verified: its own hash, and the hash of the one before it.
func TestEntry_chain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change         func(*amp.Entry)
		seq            uint64
		whole, chained bool
	}{
		"as written":        {func(*amp.Entry) {}, 112, true, true},
		"another body":      {func(e *amp.Entry) { e.Body = []byte(`{"decision":"approved"}`) }, 112, false, true},
		"another hash":      {func(e *amp.Entry) { e.Hash[0] ^= 1 }, 112, false, true},
		"before it another": {func(e *amp.Entry) { e.Hash[0] ^= 1 }, 111, true, false},
		"another actor":     {func(e *amp.Entry) { e.Actor = "mira" }, 112, false, true},
	} {
		f, err := readEntry(t.Context(), &forger{tuitest.Scene(), c.seq, c.change}, 112, true)
		if err != nil || f.whole != c.whole || f.chained != c.chained {
			t.Errorf("%s: whole %v, chained %v (%v)", name, f.whole, f.chained, err)
		}
	}
	f, err := readEntry(t.Context(), tuitest.Scene(), 1, true)
	if err != nil || !f.whole || !f.chained || f.prev != 0 || f.next == 0 {
		t.Errorf("the first entry: %+v (%v)", f, err)
	}
	if _, err := readEntry(t.Context(), tuitest.Scene(), 999, true); err == nil || !strings.Contains(err.Error(), "the journal ends at #193") {
		t.Errorf("an entry that is not there: %v", err)
	}
}

func TestEntry_links(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30)
	s.goTo(entryPlace(109)).WaitFor("#109 message")
	s.Shows("ACK            #111", "task_dispatch  #101", "task_result    #105", "✓ #108")
	s.Press("tab", "j").Shows("▌ ACK ")
	s.Press("j").Shows("▌ task_dispatch  #101").Press("enter").WaitFor("#101 message")
	s.Press("esc").WaitFor("#109 message").Press("]").WaitFor("#110 turn")
	s.Press("[").WaitFor("#109 message").Press("}", "}").WaitFor("#111 ack")
	s.Press("{").WaitFor("#110 turn")
	s.Press("enter").WaitFor("Tasks › T-2026-005")
	s.Press("esc").WaitFor("#110 turn") // the entry that was gone to in the place of the first
	s.goTo(entryPlace(193)).WaitFor("#193 ack").Press("}").Shows("it is the newest entry")
	s.goTo(entryPlace(1)).WaitFor("#1 command").Press("{").Shows("it is the first entry")
}

func TestEntry_raw(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30)
	s.goTo(entryPlace(112)).WaitFor("indented, wrapped").Shows(`  "msg_id": "review_verdict-`)
	s.Press("r").Shows("exact bytes, wrapped", `{"msg_id":"review_verdict-`)
	s.Press("w").Shows("exact bytes · 1 line")
	s.Press("/")
	s.Burst("recycle").Press("enter").Shows("1 line found")
	s.Press("n").Shows("no other match")
	s.Press("Y").WaitFor(`copied "{\"msg_id\"`)
}

// The ACK and the next entry appear when they come.
func TestEntry_live(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("one").Propose().Approve().Dispatch()
	s := start(t, script, 100, 30)
	s.goTo(entryPlace(4)).WaitFor("#4 message").Hides("ACK  ")
	task.Ack(amp.TaskDispatch)
	s.WaitFor("ACK            #6  accepted")
}
