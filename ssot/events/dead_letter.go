package events

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// DeadLetter is an event that a receiver refused: trying again by itself would mend nothing.
type DeadLetter struct {
	ID   string    `json:"id"`
	Sink string    `json:"sink"`
	Type string    `json:"type"`
	Task string    `json:"task_id,omitzero"`
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	// Why is what the receiver said.
	Why string `json:"why"`
}

func (o *Outbox) letters(s *sink) string { return filepath.Join(o.dir, s.Name+".dead.json") }

// bury puts an event among the dead letters.
func (o *Outbox) bury(s *sink, d *Delivery, why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	task, _ := d.Metadata["amp"].(map[string]any)["task_id"].(string)
	s.dead = slices.DeleteFunc(s.dead, func(l DeadLetter) bool { return l.ID == d.ID })
	s.dead = append(s.dead, DeadLetter{ID: d.ID, Sink: s.Name, Type: d.Type, Task: task, Seq: d.At.Seq, At: time.Now().UTC(), Why: why})
	if len(s.dead) > maxDead {
		o.logger.Warn("the oldest dead letter makes room", "sink", s.Name, "event", s.dead[0].ID)
		s.dead = s.dead[1:]
	}
	s.state.Dead = len(s.dead)
	o.logger.Warn("an event was refused by its receiver", "sink", s.Name, "event", d.ID, "seq", d.At.Seq, "task", task, "why", why)
	return writeFile(o.letters(s), s.dead)
}

// Dead are the dead letters of all receivers, oldest first.
func (o *Outbox) Dead() []DeadLetter {
	out := []DeadLetter{}
	for _, s := range o.sinks {
		s.mu.Lock()
		out = append(out, s.dead...)
		s.mu.Unlock()
	}
	slices.SortStableFunc(out, func(a, b DeadLetter) int { return a.At.Compare(b.At) })
	return out
}

// ResendError says that a receiver did not take a dead letter this time either.
type ResendError struct{ Sink, Why string }

// Error names both.
func (e *ResendError) Error() string { return fmt.Sprintf("%s did not take it: %s", e.Sink, e.Why) }

// Resend delivers a dead letter once more, to each receiver that refused it, and takes it off the list when it was taken.
func (o *Outbox) Resend(ctx context.Context, id string) (sinks []string, err error) {
	found := false
	for _, s := range o.sinks {
		s.mu.Lock()
		there := slices.ContainsFunc(s.dead, func(l DeadLetter) bool { return l.ID == id })
		s.mu.Unlock()
		if !there {
			continue
		}
		found = true
		d, err := o.publisher.Find(ctx, id)
		if err != nil {
			return sinks, err
		}
		if why, verdict, _ := o.post(ctx, s, []Delivery{*d}); verdict != taken {
			return sinks, &ResendError{Sink: s.Name, Why: why}
		}
		s.mu.Lock()
		s.dead = slices.DeleteFunc(s.dead, func(l DeadLetter) bool { return l.ID == id })
		s.state.Dead = len(s.dead)
		err = writeFile(o.letters(s), s.dead)
		s.mu.Unlock()
		if err != nil {
			return sinks, err
		}
		sinks = append(sinks, s.Name)
	}
	if !found {
		return nil, &UnknownError{ID: id}
	}
	return sinks, nil
}
