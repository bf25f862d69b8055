package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// deadLetters is a bus with dead letters.
type deadLetters struct {
	mu     sync.Mutex
	all    []Letter
	did    []string
	refuse error
	down   error
}

func (d *deadLetters) Dead(context.Context) ([]Letter, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all), d.down
}

func (d *deadLetters) take(what string, keys []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return d.refuse
	}
	d.did = append(d.did, what+" "+strings.Join(keys, " "))
	d.all = slices.DeleteFunc(d.all, func(l Letter) bool { return slices.Contains(keys, l.Key) })
	return nil
}

func (d *deadLetters) Resend(_ context.Context, keys []string) error { return d.take("resend", keys) }
func (d *deadLetters) Drop(_ context.Context, keys []string) error   { return d.take("drop", keys) }

func (d *deadLetters) done() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.did, ", ")
}

func threeLetters() *deadLetters {
	at := tuitest.SceneEnd
	return &deadLetters{all: []Letter{
		{
			Key: "k1", MessageID: "msg_1", Type: "task_request", Priority: "high", From: "arbiter://coordinator", To: "curl://coder", Task: "T-2026-044",
			Bytes: 2104, At: at.Add(-time.Hour), Dead: at.Add(-40 * time.Minute), Tries: 5, Why: "5 deliveries failed: connection \x1b[31mrefused",
		},
		{Key: "k2", MessageID: "msg_2", Type: "status_update", Priority: "low", From: "node://tester", To: "curl://gone", Bytes: 88, At: at.Add(-30 * time.Minute), Dead: at.Add(-20 * time.Minute), Why: "the agent was removed"},
		{Key: "k3", MessageID: "msg_3", Type: "query", Priority: "medium", From: "node://tester", To: "curl://coder", Bytes: 120, At: at.Add(-10 * time.Minute), Dead: at.Add(-5 * time.Minute), Tries: 1, Why: "nobody took it in 24h0m0s"},
	}}
}

// onLetters is a seat in front of the dead letters of a bus.
func onLetters(t *testing.T, d *deadLetters, w, h int) (*seat, *tuitest.Script) {
	t.Helper()
	script := tuitest.Scene().SetState(func(c *amp.CoordinatorState) { c.Bus = &amp.BusFacts{Dead: len(d.all)} })
	s := start(t, script, w, h, func(c *Config) { c.Letters = d })
	s.Press("6").WaitFor("bus")
	s.Press("b").WaitFor("Dead letters of the bus")
	return s, script
}

// The admin sees who could not be told what, why, how often it was tried and since when, and sends it again; the list follows the journal.
func TestLetters_resend(t *testing.T) {
	t.Parallel()
	d := threeLetters()
	s, script := onLetters(t, d, 100, 30)
	s.WaitFor("3 messages").Shows("msg_3", "nobody took it in 24h0m0s", "1 delivery failed since the bus was started")
	s.Press("j", "j").WaitFor("5 deliveries failed since the bus was started")
	s.Shows("msg_1", "arbiter://coordinator", "curl://coder", "high · 2,104 B", "T-2026-044", "connection ␛[31mrefused")
	s.Press("P").WaitFor("1 dead letter sent again").WaitFor("2 messages")
	if got := d.done(); got != "resend k1" {
		t.Errorf("done: %s", got)
	}
	d.mu.Lock()
	d.all = append(d.all, Letter{Key: "k4", MessageID: "msg_4", Type: "query", From: "a://b", To: "c://d", Dead: tuitest.SceneEnd, Why: "new"})
	d.mu.Unlock()
	script.Append(amp.KindBus, "", amp.System, "bus", []byte(`{"event":"message_delivered"}`))
	script.Append(amp.KindBus, "", amp.System, "bus", []byte(`{"event":"message_dead","keys":["k4"]}`))
	s.WaitFor("3 messages").WaitFor("c://d")
}

// Giving up is asked about first, by a bar with the focus on Cancel.
func TestLetters_drop(t *testing.T) {
	t.Parallel()
	d := threeLetters()
	s, _ := onLetters(t, d, 100, 30)
	s.WaitFor("3 messages").Press("space").WaitFor("1 marked").Press("space").WaitFor("2 marked")
	s.Press("D").WaitFor("Give 2 dead letters up?").Shows("msg_3", "msg_2", "will not  delete it from the journal", "[ Cancel ]")
	s.arm()
	s.Press("enter")
	if got := d.done(); got != "" {
		t.Fatalf("the first key did it: %s", got)
	}
	s.Press("D").WaitFor("Give 2 dead letters up?")
	s.arm()
	s.Press("tab").WaitFor("[ Give up ]").Press("enter").WaitFor("2 dead letters given up").WaitFor("1 message")
	if got := d.done(); got != "drop k3 k2" {
		t.Errorf("done: %s", got)
	}
}

// What is refused stays, and says why.
func TestLetters_refused(t *testing.T) {
	t.Parallel()
	d := threeLetters()
	d.refuse = errors.New("agent curl://coder is not registered any more")
	s, _ := onLetters(t, d, 100, 30)
	s.WaitFor("3 messages").Press("P").WaitFor("refused  agent curl://coder is not registered any more").Shows("3 messages")

	down := &deadLetters{down: errors.New("no answer")}
	s, _ = onLetters(t, down, 100, 30)
	s.WaitFor("They could not be read: no answer")
}

// In read-only mode nothing is sent, and without a bus there is no such page.
func TestLetters_off(t *testing.T) {
	t.Parallel()
	d := threeLetters()
	s, _ := onLetters(t, d, 100, 30)
	s.WaitFor("3 messages").Press("!", "P").WaitFor("is off: read-only").Press("D").WaitFor("is off: read-only")
	if got := d.done(); got != "" {
		t.Errorf("done: %s", got)
	}
	none := start(t, tuitest.Scene(), 100, 30)
	none.Press("6", "b").WaitFor("dead letters of the bus is off: the coordinator has no bus")
}

func TestLetters_golden(t *testing.T) {
	t.Parallel()
	s, _ := onLetters(t, threeLetters(), 80, 24)
	s.WaitFor("3 messages").WaitGone("14:32:") // nothing is on its way any more
	tuitest.Golden(t, "letters/80x24-truecolor-dark-utf8", s.Settle())
	wide, _ := onLetters(t, threeLetters(), 140, 40)
	wide.WaitFor("3 messages").WaitGone("14:32:")
	tuitest.Golden(t, "letters/140x40-truecolor-dark-utf8", wide.Settle())
	empty, _ := onLetters(t, &deadLetters{}, 80, 24)
	empty.WaitFor("Every message was delivered").WaitGone("14:32:")
	tuitest.Golden(t, "letters/80x24-empty", empty.Settle())
}
