package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/events"
)

// takenEvents is what became of events that came in.
type takenEvents struct {
	Accepted   []string       `json:"accepted"`
	Duplicates []string       `json:"duplicates"`
	Expired    []string       `json:"expired"`
	Refused    []takenProblem `json:"refused"`
}

// takenProblem says why a message of a batch was refused.
type takenProblem struct {
	Index    int           `json:"index"`
	Seq      uint64        `json:"seq,omitzero"`
	Problems []amp.Problem `json:"problems"`
}

// take takes in an event or a batch.
func (d *eventsDoor) take(r *http.Request) (any, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, events.MaxEvent+1)) // one byte more is enough to be refused for its length
	if err != nil {
		return nil, &server.Error{Code: "request", What: "the request could not be read", Means: "Nothing was done."}
	}
	by, _, _ := server.Caller(r.Context())
	out := takenEvents{Accepted: []string{}, Duplicates: []string{}, Expired: []string{}, Refused: []takenProblem{}}
	e, errs, _ := events.Decode(data)
	if len(errs) == 0 && e.Type == events.Batch {
		for i, raw := range events.Messages(data) {
			if err := d.arrive(r.Context(), by, raw, i, &out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if err := d.arrive(r.Context(), by, data, 0, &out); err != nil {
		return nil, err
	}
	if len(out.Refused) > 0 {
		return nil, &amp.RefusedError{What: "event", Seq: out.Refused[0].Seq, Problems: out.Refused[0].Problems, Next: "Mend each of the problems."}
	}
	return out, nil
}

// arrive judges one event and keeps it.
func (d *eventsDoor) arrive(ctx context.Context, by string, raw []byte, index int, out *takenEvents) error {
	e, errs, _ := events.Decode(raw)
	if len(errs) == 0 && e.Type == events.Batch {
		errs = []amp.Problem{{Rule: "EVT-101", Field: "type", Message: "is a batch in a batch"}}
	}
	if len(errs) == 0 && e.Expired(time.Now()) { // EVT-104
		d.logger.Info("an event came after its time to live", "event", e.ID, "type", e.Type, "actor", by)
		out.Expired = append(out.Expired, e.ID)
		return nil
	}
	if len(errs) == 0 {
		_, fresh, err := d.coord.Arrive(ctx, by, amp.Arrived{ID: strings.ToLower(e.ID), Type: e.Type, Source: e.Source, Raw: string(raw)})
		switch {
		case errors.Is(err, ssot.ErrConflict):
			errs = []amp.Problem{{Rule: "EVT-003", Field: "id", Message: "stands for another event already"}}
		case err != nil:
			return err
		case fresh:
			out.Accepted = append(out.Accepted, e.ID)
			return nil
		default:
			out.Duplicates = append(out.Duplicates, e.ID)
			return nil
		}
	}
	err := d.coord.Refuse(ctx, by, amp.Refusal{What: "event", Source: "events", Problems: errs, Raw: raw})
	refused, ok := errors.AsType[*amp.RefusedError](err)
	if !ok {
		return err
	}
	out.Refused = append(out.Refused, takenProblem{Index: index, Seq: refused.Seq, Problems: errs})
	return nil
}
