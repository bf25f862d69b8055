package amp

import "time"

// QuestionType is why a person is asked.
type QuestionType string

// The question types.
const (
	QuestionPermission    QuestionType = "permission"
	QuestionClarification QuestionType = "clarification"
	QuestionBudget        QuestionType = "budget"
	// QuestionLimit: an agent cannot go on before the admin has mended what it lacks: a key, an account, a program.
	QuestionLimit QuestionType = "limit"
)

// The options of questions. OptionAllowTask allows the same request again in this task, for Question.GrantSec.
const (
	OptionAllow     = "allow once"
	OptionAllowTask = "allow in this task"
	OptionDeny      = "deny"
	OptionTryAgain  = "try again"
	OptionToday     = "go on today"
)

// Allows reports whether an answer lets a request through.
func Allows(option string) bool { return option == OptionAllow || option == OptionAllowTask }

// Question is the body of a question entry: work waits for a person. It is answered by an answer or raise_limit command. One that
// has an Answer was answered without a person, and opens nothing: of an id that waits it is the end.
type Question struct {
	QuestionID string       `json:"question_id"`
	TaskID     TaskID       `json:"task_id"`
	Type       QuestionType `json:"type"`
	TurnID     string       `json:"turn_id,omitzero"`
	Agent      string       `json:"agent,omitzero"`
	Role       Role         `json:"role,omitzero"`
	// Request is the exact request, untrusted text.
	Request string   `json:"request"`
	Options []string `json:"options"`
	// Expires is when silence becomes a no.
	Expires *time.Time `json:"expires,omitzero"`
	// Permission is the request of a permission question, with its parts; Request is then its one line.
	Permission *Permission `json:"permission,omitzero"`
	// Why is why it is asked, in the words of this program; GrantSec how long OptionAllowTask holds.
	Why      string    `json:"why,omitzero"`
	GrantSec int       `json:"grant_sec,omitzero"`
	Answer   *Answered `json:"answer,omitzero"`
}

// Answered is an answer that no person gave: by a rule of the configuration, by an earlier answer of the admin that still holds, by
// silence, or because the agent waits for none any more.
type Answered struct {
	Allow bool `json:"allow"`
	// By is "rule", "grant", "silence" or "agent"; Reason one sentence.
	By     string `json:"by"`
	Reason string `json:"reason,omitzero"`
}

// Grant is an answer that holds for equal requests of a task until a time.
type Grant struct {
	Permission Permission `json:"permission"`
	Until      time.Time  `json:"until"`
	By         string     `json:"by"`
	Seq        uint64     `json:"seq"`
}

// Granted is the grant of the task that holds for a request now, nil when none does.
func (t *Task) Granted(p *Permission, now time.Time) *Grant {
	for i := range t.Grants {
		if g := &t.Grants[i]; now.Before(g.Until) && g.Permission.Same(p) {
			return g
		}
	}
	return nil
}

// Reply is what the admin answered to a question that an agent asked instead of answering.
type Reply struct {
	Role     Role   `json:"role"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
	By       string `json:"by"`
}

// AgentPause is an agent that cannot work for the task now.
type AgentPause struct {
	Agent string `json:"agent"`
	// Until is when it may be tried again; nil: when the admin says so.
	Until *time.Time `json:"until,omitzero"`
	// Times counts pauses in a row; Why is the last one's reason, untrusted.
	Times int    `json:"times"`
	Why   string `json:"why,omitzero"`
}

// PauseOf is why an agent must not be tried now, nil when it may.
func (t *Task) PauseOf(agent string, now time.Time) *AgentPause {
	for i := range t.Pauses {
		if p := &t.Pauses[i]; p.Agent == agent && (p.Until == nil || now.Before(*p.Until)) {
			return p
		}
	}
	return nil
}
