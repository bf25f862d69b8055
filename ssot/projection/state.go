package projection

import (
	"errors"
	"fmt"

	"arbiter/amp"
)

// Board is the JSON of a board without its tasks and the usage, which have rows of their own.
func Board(b *amp.Board) string {
	c := *b
	c.Tasks, c.Order, c.Usage = nil, nil, nil
	return string(amp.EncodeBody(&c))
}

// usageRow is what the row of the usage holds.
type usageRow struct {
	Agents []amp.AgentUsage `json:"agents,omitzero"`
}

// NoUsage is the row of the usage before a turn has ended.
const NoUsage = "{}"

// Usage is the JSON of what the agents of a board did lately.
func Usage(b *amp.Board) string { return string(amp.EncodeBody(usageRow{b.Usage})) }

// SameUsage reports whether the fold left the usage alone: it replaces what it changes.
func SameUsage(a, b []amp.AgentUsage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Task is the JSON of a task.
func Task(t *amp.Task) string { return string(amp.EncodeBody(t)) }

// DecodeBoard reads what Board and Usage wrote.
func DecodeBoard(state, usage []byte) (*amp.Board, error) {
	b, err := decode[amp.Board](state)
	if err == nil {
		b.Usage, err = DecodeUsage(usage)
	}
	if err == nil && (b.Tasks == nil || b.Numbers == nil) {
		err = errors.New("a table of the board is missing")
	}
	return &b, unreadable(err)
}

// DecodeUsage reads what Usage wrote.
func DecodeUsage(state []byte) ([]amp.AgentUsage, error) {
	row, err := decode[usageRow](state)
	return row.Agents, unreadable(err)
}

// DecodeTask reads what Task wrote.
func DecodeTask(state []byte) (*amp.Task, error) {
	t, err := decode[amp.Task](state)
	return &t, unreadable(err)
}

// unreadable is the error of a projection that cannot be decoded.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("a projection cannot be read, a rebuild puts it right: %w", err)
}

func decode[T any](state []byte) (T, error) {
	return amp.DecodeBody[T](&amp.Entry{Record: amp.Record{Body: state}})
}
