package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

func TestFake_inBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &Fake{RunFunc: func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			emit(Accept(turn))
			select {
			case <-time.After(time.Hour):
				return Final(amp.Verdict{Decision: amp.Approved, Confidence: 1}), nil
			case <-ctx.Done():
				return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
			}
		}}
		var acks []providers.Event
		done := make(chan error)
		turn := providers.Turn{ID: "a", Message: json.RawMessage(`{"payload":{"acceptance_criteria":["x"]}}`)}
		go func() {
			out, err := f.Run(t.Context(), turn, func(e providers.Event) { acks = append(acks, e) })
			if err == nil && len(out.Final) == 0 {
				err = errors.New("no final answer")
			}
			done <- err
		}()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := f.Run(ctx, providers.Turn{ID: "b"}, func(providers.Event) {})
			done <- err
		}()
		synctest.Wait()
		if f.Live() != 2 || len(f.Turns()) != 2 {
			t.Errorf("live %d, turns %d, want 2 and 2", f.Live(), len(f.Turns()))
		}
		cancel()
		if _, ok := errors.AsType[*providers.TurnError](<-done); !ok {
			t.Error("the stopped turn has no error")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if f.Live() != 0 || f.Peak() != 2 {
			t.Errorf("live %d, peak %d, want 0 and 2", f.Live(), f.Peak())
		}
		if len(acks) != 1 || acks[0].Ack.Status != amp.AckAccepted || len(acks[0].Ack.EchoedAcceptanceCriteria) != 1 {
			t.Errorf("acks = %+v", acks)
		}
	})
}

func TestFake_withoutFunctions(t *testing.T) {
	t.Parallel()
	f := &Fake{}
	if _, err := f.Run(t.Context(), providers.Turn{}, nil); err == nil {
		t.Error("a fake without RunFunc ran")
	}
	if err := f.Reap(t.Context(), "x"); err != nil || len(f.Reaped()) != 1 {
		t.Errorf("Reap = %v, reaped %v", err, f.Reaped())
	}
	if e := Refuse("no"); e.Ack.Status != amp.AckRefused || e.Ack.Reason != "no" {
		t.Errorf("Refuse = %+v", e.Ack)
	}
}
