package sacp

import "fmt"

// Edge leads to a node when its condition holds.
type Edge struct {
	If   Rule
	Node string
}

// Edges are where a node can lead.
type Edges struct {
	// When are tried in order before the others.
	When []Edge
	// Next is where a success goes, Error where a failure goes; empty for none.
	Next, Error string
}

// Move is what comes after an answer.
type Move string

// The moves. Pause asks a person, and the same agent goes on with the answer.
const (
	Go    Move = "go"
	End   Move = "end"
	Stop  Move = "stop"
	Pause Move = "pause"
)

// Route says where the chain goes after an answer: to a node, to its end, to a stop after a failure, or to a pause for a person
// (SACP-005 to SACP-008, P02, P09). A pause comes before everything else. An edge whose condition cannot be judged is not taken, and the
// error says which; the move is then a stop, since a wrong turn is worse than none.
func Route(a Answer, e Edges) (move Move, node string, err error) {
	if a.Status == Clarification {
		return Pause, "", nil
	}
	for _, edge := range e.When {
		ok, err := edge.If.Holds(a)
		if err != nil {
			return Stop, "", fmt.Errorf("edge to %s: %w", edge.Node, err)
		}
		if ok {
			return Go, edge.Node, nil
		}
	}
	switch a.Status {
	case Completed:
		return End, "", nil
	case Success:
		if e.Next == "" {
			return End, "", nil
		}
		return Go, e.Next, nil
	case Failure:
		if e.Error != "" {
			return Go, e.Error, nil
		}
		return Stop, "", nil
	default:
		return Stop, "", fmt.Errorf("status is %q, which routes nowhere (SACP-004)", clip(string(a.Status)))
	}
}
