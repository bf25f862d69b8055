package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// liar is an agent host that keeps to no rule: it gets one request and answers as it likes.
type liar struct {
	*link
	r *rig
	o *order
}

// newLiar registers and waits for the request of a turn that begins.
func newLiar(r *rig) (*liar, providers.Turn, <-chan ended) {
	r.t.Helper()
	l := &liar{link: &link{url: "http://" + r.wire.addr, token: "none", http: http.DefaultClient}, r: r}
	if err := l.register(r.t.Context(), self, []byte(`{"agent_descriptor":{"agent_id":"`+self+`","framework":"worker"}}`)); err != nil {
		r.t.Fatal(err)
	}
	c, err := l.socket(r.t.Context(), self)
	if err != nil {
		r.t.Fatal(err)
	}
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	done := r.begin(r.t.Context(), turn)
	_, raw, err := c.Read(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { // answers pings until it is closed
		for {
			if _, _, err := c.Read(context.WithoutCancel(r.t.Context())); err != nil {
				return
			}
		}
	}()
	r.t.Cleanup(func() { _ = c.CloseNow() })
	if l.o, err = readOrder(raw); err != nil {
		r.t.Fatal(err)
	}
	return l, turn, done
}

// answer sends the result with what it says of a parcel.
func (l *liar) answer(turn *providers.Turn, parcel amp.Raw) {
	l.r.t.Helper()
	w := &Worker{}
	t := &task{Job: Job{Agent: self, MessageID: l.o.message.MessageID, Task: turn.Task}}
	out := result(turn)
	m := w.reply(t, bus.TaskResponse, newID(), carry(out.Final))
	if parcel != nil {
		m.Metadata["parcel"] = parcel
	}
	if err := l.send(l.r.t.Context(), m); err != nil {
		l.r.t.Fatal(err)
	}
}

// Whatever a host sends in place of honest commits, the turn fails with the reason, the next one is told of it, and no ref has moved.
func TestDesk_liar(t *testing.T) {
	t.Parallel()
	junk := "# v2 git bundle\n" + strings.Repeat("1", 40) + " refs/heads/main\n\nPACKjunkjunk"
	for name, tc := range map[string]struct {
		parcel func(l *liar) amp.Raw
		why    string
	}{
		"no word of it": {func(*liar) amp.Raw { return nil }, "metadata.parcel is missing"},
		"no parcel":     {func(*liar) amp.Raw { return amp.Raw(`"x"`) }, "metadata.parcel of its answer is none"},
		"never sent": {func(*liar) amp.Raw {
			return jsonOf(amp.Parcel{Tip: strings.Repeat("1", 40), SHA256: strings.Repeat("a", 64)})
		}, "never arrived"},
		"a path for a sum":   {func(*liar) amp.Raw { return jsonOf(amp.Parcel{Tip: strings.Repeat("1", 40), SHA256: "../../x"}) }, "is no SHA-256"},
		"a commit of nobody": {func(*liar) amp.Raw { return jsonOf(amp.Parcel{Tip: strings.Repeat("1", 40)}) }, "its commits were refused"},
		"another ref": {func(l *liar) amp.Raw {
			file := filepath.Join(l.r.t.TempDir(), "x")
			if err := os.WriteFile(file, []byte(junk), 0o600); err != nil {
				l.r.t.Fatal(err)
			}
			p := amp.Parcel{Tip: strings.Repeat("1", 40), Bytes: int64(len(junk)), SHA256: sumOf(junk)}
			if err := l.upload(l.r.t.Context(), self, l.o.message.MessageID, file, &p); err != nil {
				l.r.t.Fatal(err)
			}
			return jsonOf(p)
		}, `holds the ref "refs/heads/main"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			l, turn, done := newLiar(r)
			before := r.run("-C", r.repo, "for-each-ref")
			l.answer(&turn, tc.parcel(l))
			e := wait(t, "the end of the turn", done)
			te, ok := errors.AsType[*providers.TurnError](e.err)
			if !ok || te.Failure != providers.FailAnswer || !strings.Contains(te.Text, tc.why) {
				t.Errorf("error = %v, want %q", e.err, tc.why)
			}
			if after := r.run("-C", r.repo, "for-each-ref"); after != before {
				t.Errorf("refs moved:\n%s\nwere:\n%s", after, before)
			}
		})
	}
}

// The desk serves a request to the agent that has it, while it has it, and takes no more than it said.
func TestDesk_refuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stopBus()
	r.startBus(func(c *bus.Config) { c.MaxParcel = 1000 })
	l, turn, done := newLiar(r)
	id := l.o.message.MessageID
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.register(t.Context(), "worker://box/other", []byte(`{"agent_descriptor":{"agent_id":"worker://box/other","framework":"worker"}}`)); err != nil {
		t.Fatal(err)
	}
	code := func(err error) int {
		if e, ok := errors.AsType[*statusError](err); ok {
			return e.code
		}
		return 0
	}
	fetch := func(agent, id string) error {
		_, err := l.fetch(t.Context(), agent, id, nil, filepath.Join(t.TempDir(), "offer"))
		return err
	}
	diff := func(agent string) error {
		_, err := l.diff(t.Context(), agent, id)
		return err
	}
	ended := func(agent string, n int) error {
		_, err := l.ended(t.Context(), agent, make([]amp.Workspace, n))
		return err
	}
	upload := func(p amp.Parcel) error { return l.upload(t.Context(), self, id, file, &p) }
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 1001), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		err  error
		want int
	}{
		"an agent without the right": {fetch("worker://box/other", id), 400},
		"an agent that is not there": {fetch("worker://box/nobody", id), 400},
		"another request":            {fetch(self, "msg_1_2"), 409},
		"a path":                     {fetch(self, "../../v1/status"), 409},
		"too much":                   {l.upload(t.Context(), self, id, large, &amp.Parcel{SHA256: sumOf("hello"), Bytes: 1001}), 400},
		"a wrong sum":                {upload(amp.Parcel{SHA256: sumOf("other"), Bytes: 5}), 400},
		"no sum":                     {upload(amp.Parcel{SHA256: "zz", Bytes: 5}), 400},
		"no diff":                    {diff(self), 400},
		"a diff of another's":        {diff("worker://box/other"), 400},
		"tasks without the right":    {ended("worker://box/other", 1), 400},
		"too many tasks":             {ended(self, bus.MaxHeld+1), 400},
		"tasks":                      {ended(self, bus.MaxHeld), 0},
		"its own":                    {fetch(self, id), 0},
		"in time":                    {upload(amp.Parcel{SHA256: sumOf("hello"), Bytes: 5}), 0},
	} {
		if code(tc.err) != tc.want {
			t.Errorf("%s: %v, want %d", what, tc.err, tc.want)
		}
	}
	l.answer(&turn, jsonOf(amp.Parcel{Tip: r.base}))
	if e := wait(t, "the end of the turn", done); e.err != nil {
		t.Error(e.err)
	}
	if err := fetch(self, id); code(err) != 409 {
		t.Errorf("after the turn: %v", err)
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A host that never finishes sending a bundle keeps no turn from its end, and nothing that it sends afterwards is written.
func TestDesk_slowSender(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l, turn, done := newLiar(r)
	id, sum := l.o.message.MessageID, sumOf("hello")
	body, pen := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		res, err := l.do(t.Context(), http.MethodPut, requestPath(id)+"/bundles/"+sum, url.Values{"agent_id": {self}, "offset": {"0"}, "size": {"5"}}, body, 5)
		if err == nil {
			err = res.Body.Close()
		}
		sent <- err
	}()
	if _, err := pen.Write([]byte("h")); err != nil {
		t.Fatal(err)
	}
	var here struct{ Received int64 }
	for here.Received == 0 { // each asks the desk, which answers while the other one sends
		if err := l.ask(t.Context(), http.MethodGet, requestPath(id)+"/bundles/"+sum, url.Values{"agent_id": {self}}, nil, &here); err != nil {
			t.Fatal(err)
		}
	}
	l.answer(&turn, jsonOf(amp.Parcel{Tip: r.base}))
	if e := wait(t, "the end of the turn", done); e.err != nil {
		t.Error(e.err)
	}
	if _, err := pen.Write([]byte("ello")); err != nil {
		t.Log(err) // the desk may have gone already
	}
	if e, ok := errors.AsType[*statusError](wait(t, "the end of the upload", sent)); !ok || e.code != http.StatusConflict {
		t.Errorf("the upload ended with %v", e)
	}
	if left, _ := filepath.Glob(filepath.Join(r.home, "parcels", "*", "*")); len(left) != 0 {
		t.Errorf("the desk keeps %q", left)
	}
}
