package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
)

// journal is the journal of a test.
type journal struct {
	mu      sync.Mutex
	records []amp.Record
	fail    error
}

func (j *journal) append(_ context.Context, records []amp.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.records = append(j.records, records...)
	return nil
}

// state is the fold of the journal, as the next process makes it.
func (j *journal) state(t *testing.T) *State {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := NewState()
	for i := range j.records {
		if err := s.ApplyEntry(&amp.Entry{Seq: uint64(i + 1), Record: j.records[i]}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// refusals are the rules of what was refused.
func (j *journal) refusals(t *testing.T) (rules []string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.records {
		if j.records[i].Kind != amp.KindRefusal {
			continue
		}
		r, err := amp.DecodeBody[amp.Refusal](&amp.Entry{Record: j.records[i]})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r.Problems[0].Rule)
	}
	return rules
}

func quietLog(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// start runs a bus until stop, or the end of the test.
func start(t *testing.T, j *journal, change func(*Config)) (b *Bus, stop func()) {
	t.Helper()
	cfg := Config{Append: j.append, Open: true, Logger: quietLog(t)}
	if change != nil {
		change(&cfg)
	}
	b = New(cfg, j.state(t))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return b, stop
}

// anyone is a caller without a token.
var anyone = Caller{Source: "test"}

func enlist(t *testing.T, b *Bus, ids ...string) {
	t.Helper()
	for _, id := range ids {
		body := fmt.Appendf(nil, `{"agent_descriptor":{"agent_id":%q,"framework":"test","capabilities":["code"]},"health_check_url":"http://127.0.0.1:1/health"}`, id)
		if _, err := b.Register(t.Context(), anyone, body); err != nil {
			t.Fatal(err)
		}
	}
}

// note is a message from one agent to another.
func note(id, from, to string, change func(*Message)) []byte {
	m := &Message{
		MessageID: id, Timestamp: "2026-11-22T08:00:00Z", Sender: Identifier{AgentID: from, Framework: FrameworkOf(from)},
		Recipient: Identifier{AgentID: to, Framework: FrameworkOf(to)}, Type: TaskRequest, Priority: Medium, Payload: []byte(`{"task_type":"x"}`),
		Routing: Routing{Timeout: "300s", RetryPolicy: RetryPolicy{MaxRetries: 2, Backoff: Exponential}, DeliveryMode: Async},
	}
	if change != nil {
		change(m)
	}
	raw, err := m.Encode()
	if err != nil {
		panic(err)
	}
	return raw
}

func send(t *testing.T, b *Bus, raw []byte) Receipt {
	t.Helper()
	r, err := b.Send(t.Context(), anyone, raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, b *Bus, id string) *Session {
	t.Helper()
	s, err := b.Open(anyone, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// next is the next messages of a session, by id.
func next(t *testing.T, s *Session, n int) (ids []string, keys []Key) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := s.Next(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range got {
		ids, keys = append(ids, d.Message.MessageID), append(keys, d.Key)
	}
	return ids, keys
}

func ruleOf(err error) string {
	if e, ok := errors.AsType[*RefusedError](err); ok {
		return e.Problems[0].Rule
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
