package amp

import (
	"fmt"
	"strings"
)

// InvalidError says everything that is wrong with a message, at least one problem.
type InvalidError struct{ Problems []Problem }

// Error is every problem, at most three in words and how many more there are.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("invalid message: ")
	for i, p := range e.Problems {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(e.Problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	return b.String()
}

func invalid(rule, field, format string, args ...any) error {
	return &InvalidError{Problems: []Problem{{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)}}}
}
