package brief

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sacp"
)

// The tools by which an agent hands something in, instead of in its final text.
const (
	SubmitResult  = "submit_result"
	SubmitVerdict = "submit_verdict"
	SubmitPlan    = "submit_plan"
	Ask           = "ask"
	Escalate      = "escalate"
	Ack           = "ack"
)

// Submission is one call of such a tool. It is a claim like any other.
type Submission struct {
	Tool    string          `json:"tool"`
	Payload json.RawMessage `json:"payload"`
}

// Tools are the tools of a role.
func Tools(role amp.Role) []string {
	submit := map[amp.Role]string{amp.Executor: SubmitResult, amp.Reviewer: SubmitVerdict, amp.Coordinator: SubmitPlan}[role]
	if submit == "" {
		return nil
	}
	return []string{submit, Ask, Escalate, Ack}
}

const (
	askSchema = `{"type":"object","additionalProperties":false,"required":["question"],"properties":{` +
		`"question":{"type":"string","description":"What only the admin can know."}}}`
	ackSchema = `{"type":"object","additionalProperties":false,"required":["status"],"properties":{` +
		`"status":{"enum":["accepted","refused"]},"reason":{"type":"string","description":"Why it is refused."}}}`
)

// ToolSchema is the JSON Schema of what a tool takes.
func ToolSchema(role amp.Role, tool string) ([]byte, error) {
	switch tool {
	case Ask:
		return []byte(askSchema), nil
	case Ack:
		return []byte(ackSchema), nil
	case Escalate:
		return amp.Schema(string(amp.EscalationMsg))
	}
	return payloadSchema(role)
}

// CheckSubmission says what is wrong with a submission by the rules that need no context, see [Check].
func CheckSubmission(turn *providers.Turn, s *Submission) []string {
	if !slices.Contains(Tools(turn.Role), s.Tool) {
		return []string{"there is no tool " + s.Tool + " in this turn"}
	}
	switch s.Tool {
	case Ask, Ack:
		said, problem := s.words()
		switch {
		case problem != "":
			return []string{problem}
		case s.Tool == Ask && said.Question == "":
			return []string{"data.question: there is no question"}
		case s.Tool == Ack && said.Status != amp.AckAccepted && (said.Status != amp.AckRefused || said.Reason == ""):
			return []string{"data.status: accepted, or refused with a reason (AMP-063)"}
		}
		return nil
	case Escalate:
		return checkMessage(turn, amp.EscalationMsg, s.Payload)
	}
	return Check(turn, s.Payload)
}

// said is what ask and ack take.
type said struct {
	Question string        `json:"question"`
	Status   amp.AckStatus `json:"status"`
	Reason   string        `json:"reason"`
}

func (s *Submission) words() (w said, problem string) {
	if err := json.Unmarshal(s.Payload, &w); err != nil {
		return w, "data cannot be read: " + err.Error()
	}
	return w, ""
}

// submissions is where the submissions of a turn are below its home, one JSON object a line. A turn in a cage reaches no socket of ours, but its
// home; and what is handed in counts when the turn has ended well, not before.
var submissions = filepath.Join(".arbiter", "submitted.jsonl")

// maxSubmissions is how much of the file is read, and written.
const maxSubmissions = 4 << 20

// Append writes a submission behind those that are in a file.
func (s *Submission) Append(file string) error {
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write a submission: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write a submission: %w", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write a submission: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size()+int64(len(line)) >= maxSubmissions {
		return errors.New("write a submission: this turn handed in more than it may")
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write a submission: %w", err)
	}
	return nil
}

// ReadSubmitted is [Read] for an agent that may have handed something in by the tools of its server, see [ServerOf]: the last result, verdict,
// plan, question or refusal counts before its final text, and escalations are emitted. The agent could write to its home, so a link that leads
// out of it is nothing.
func ReadSubmitted(turn *providers.Turn, tools []string, text string, out *providers.Outcome, emit func(providers.Event)) *providers.TurnError {
	if len(tools) == 0 {
		return Read(turn, text, out)
	}
	for _, s := range submitted(turn) {
		w, _ := s.words()
		switch s.Tool {
		case SubmitResult, SubmitVerdict, SubmitPlan:
			text = object(sacp.Success, s.Payload, "handed in with "+s.Tool)
		case Ask:
			text = object(sacp.Clarification, json.RawMessage(`{}`), w.Question)
		case Ack:
			if w.Status == amp.AckRefused {
				return &providers.TurnError{Failure: providers.FailRefused, Text: "it refused the message: " + w.Reason}
			}
		case Escalate:
			emit(providers.Event{Type: providers.EventEscalation, Payload: s.Payload})
		}
	}
	return Read(turn, text, out)
}

// object is a SACP object.
func object(status sacp.Status, data json.RawMessage, message string) string {
	raw, err := json.Marshal(map[string]any{"thought": "", "status": status, "data": data, "message": message})
	if err != nil {
		return "" // data was read as JSON
	}
	return string(raw)
}

// submitted are the submissions that are good by themselves.
func submitted(turn *providers.Turn) []Submission {
	if turn.Prompt != nil {
		return nil
	}
	root, err := os.OpenRoot(turn.Home)
	if err != nil {
		return nil
	}
	defer root.Close()
	if info, err := root.Lstat(submissions); err != nil || info.Mode()&fs.ModeType != 0 {
		return nil
	}
	f, err := root.Open(submissions)
	if err != nil {
		return nil
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSubmissions))
	if err != nil {
		return nil
	}
	var all []Submission
	for line := range bytes.Lines(raw) {
		var s Submission
		if json.Unmarshal(line, &s) == nil && len(CheckSubmission(turn, &s)) == 0 {
			all = append(all, s)
		}
	}
	return all
}

// ForgetSubmitted removes what an earlier turn handed in; it is to be called before the program starts.
func ForgetSubmitted(turn *providers.Turn) error {
	root, err := os.OpenRoot(turn.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open home of the turn: %w", err)
	}
	defer root.Close()
	if err := root.RemoveAll(submissions); err != nil {
		return fmt.Errorf("forget what was handed in: %w", err)
	}
	return nil
}
