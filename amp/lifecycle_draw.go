package amp

import (
	"slices"
	"strings"
)

// Mermaid draws the table of moves as a state diagram, in a fixed order.
func Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> drafting\n")
	for _, from := range Statuses {
		to := map[Status][]string{}
		for cause, s := range moves[from] {
			to[s] = append(to[s], string(cause))
		}
		for _, s := range append(slices.Clone(Statuses), resumeTo) {
			causes := to[s]
			if len(causes) == 0 {
				continue
			}
			slices.Sort(causes)
			line := "    " + string(from) + " --> " + string(s) + " : " + strings.Join(causes, ", ")
			if s == resumeTo {
				line = "    note right of " + string(from) + " : " + strings.Join(causes, ", ") + " leads back to where the task stood"
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// AllowedIn lists the statuses in which a command about a task can be given; nil for commands that are judged by more.
func AllowedIn(c CommandName) []Status { return slices.Clone(commandFrom[c]) }
