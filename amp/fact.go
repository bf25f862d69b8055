package amp

import (
	"errors"
	"fmt"
)

// Fact is what the fold needs of a record, decoded ahead of its entry by [Parse]. It is folded at most once: a board keeps parts of it.
type Fact struct {
	body any
	err  error
}

// Parse decodes the body of a record as its kind says. It needs no board: who appends can do it before the record has its place.
func Parse(r *Record) Fact {
	body, err := parse(r)
	if err == nil && r.TaskID == "" {
		err = lacksTask(body)
	}
	return Fact{body: body, err: err}
}

// Err is why no board can fold the record, nil when every board can.
func (f *Fact) Err() error { return f.err }

func parse(r *Record) (any, error) {
	switch r.Kind {
	case KindMessage:
		m, _, err := Decode(r.Body)
		return m, err
	case KindAck:
		return parseBody[Ack](r)
	case KindCommand:
		return parseBody[Command](r)
	case KindPlan:
		return parseBody[Plan](r)
	case KindTurn:
		return parseBody[Turn](r)
	case KindQuestion:
		return parseBody[Question](r)
	case KindCheck:
		return parseBody[Check](r)
	case KindRefusal:
		return parseBody[Refusal](r)
	case KindChain:
		return parseBody[Chain](r)
	case KindBus:
		return nil, nil
	case KindOutside:
		return parseBody[Outside](r)
	}
	return nil, &UnknownKindError{r.Kind}
}

// UnknownKindError says that an entry is of a kind that this version does not know: a newer one wrote it.
type UnknownKindError struct{ Kind Kind }

// Error names the kind.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("kind %q is not known to this version", e.Kind)
}

func parseBody[T any](r *Record) (*T, error) {
	body, err := DecodeBody[T](&Entry{Record: *r})
	return &body, err
}

// lacksTask is the error of a body that says nothing without a task.
func lacksTask(body any) error {
	switch b := body.(type) {
	case *Message:
		return errors.New("a message needs a task")
	case *Ack:
		return errors.New("an ack needs a task")
	case *Plan:
		return errors.New("a plan needs a task")
	case *Turn:
		return errors.New("a turn needs a task")
	case *Question:
		return errors.New("a question needs a task")
	case *Outside:
		return errors.New("a report from outside needs a task")
	case *Check:
		if b.Subject != CheckCommand {
			return errors.New("a check needs a task")
		}
	}
	return nil
}
