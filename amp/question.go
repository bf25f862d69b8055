package amp

import "time"

// QuestionType is why a person is asked.
type QuestionType string

// The question types.
const (
	QuestionPermission    QuestionType = "permission"
	QuestionClarification QuestionType = "clarification"
	QuestionBudget        QuestionType = "budget"
)

// Question is the body of a question entry: work waits for a person. It is answered by an answer or raise_limit command.
type Question struct {
	QuestionID string       `json:"question_id"`
	TaskID     TaskID       `json:"task_id"`
	Type       QuestionType `json:"type"`
	TurnID     string       `json:"turn_id,omitzero"`
	Agent      string       `json:"agent,omitzero"`
	// Request is the exact request, untrusted text.
	Request string     `json:"request"`
	Options []string   `json:"options"`
	Expires *time.Time `json:"expires,omitzero"`
}
