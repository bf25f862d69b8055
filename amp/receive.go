package amp

import (
	"fmt"
	"strings"
)

// Received is something that came in from outside the loop: an AMP message or an ACK, not yet trusted.
type Received struct {
	// Raw is what came, byte for byte.
	Raw []byte `json:"raw"`
	// As is the role that the sender may speak for; Actor is its name.
	As    Role   `json:"as"`
	Actor string `json:"actor"`
	// Source says through which door it came: "cli", "socket".
	Source string `json:"source"`
	// Turn is the turn whose process sent it, empty when no agent's process of the coordinator did. A turn speaks for its own role, of its
	// own task.
	Turn string `json:"turn,omitzero"`
	// Strict refuses unknown properties (AMP-031).
	Strict bool `json:"strict,omitzero"`
}

// Receipt says what became of something received.
type Receipt struct {
	Entry    Entry     `json:"entry"`
	Warnings []Problem `json:"warnings,omitzero"`
	// Duplicate is set when the same bytes were stored before; nothing changed (AMP-013).
	Duplicate bool `json:"duplicate,omitzero"`
}

// RefusedError says that a message, an ACK or a command was refused. Nothing was lost: the raw bytes are in the journal.
type RefusedError struct {
	// Seq is the refusal entry, 0 when nothing was worth keeping.
	Seq uint64 `json:"seq,omitzero"`
	// What was refused: a message type, "ack" or a command.
	What     string    `json:"what"`
	Problems []Problem `json:"problems"`
	// Next is the next step for the person, when there is one.
	Next string `json:"next,omitzero"`
}

// Error names what was refused and every problem.
func (e *RefusedError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = p.String()
	}
	return fmt.Sprintf("%s refused: %s", e.What, strings.Join(parts, "; "))
}
