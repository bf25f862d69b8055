package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is what a request needs to know of an AMP message. The whole of it is judged where it was written.
type envelope struct {
	MsgID      string          `json:"msg_id"`
	Type       amp.MessageType `json:"type"`
	TimeoutSec int             `json:"ack_timeout_sec"`
	ContextRef []string        `json:"context_ref"`
	Payload    jsontext.Value  `json:"payload"`
}

// liberal keeps an AMP message as it was written, but for space between its tokens.
var liberal = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// MessageID is the id of a message on the bus that carries the AMP message msgID: the same each time, so that a resend is dropped as a
// duplicate.
func MessageID(msgID string) string {
	at := int64(0)
	if _, _, t, err := amp.ParseMsgID(msgID); err == nil {
		at = t.UnixMilli()
	}
	sum := sha256.Sum256([]byte(msgID))
	return fmt.Sprintf("msg_%d_%s", at, hex.EncodeToString(sum[:4]))
}

// Request is a turn as a task_request to an agent. A turn that asks again, since an answer was refused or a question was answered, is another
// message than the first.
func Request(turn *providers.Turn, to string, fallback []string) (*Message, error) {
	var e envelope
	if len(turn.Message) > 0 {
		if err := json.Unmarshal(turn.Message, &e, liberal...); err != nil {
			return nil, fmt.Errorf("read the message of turn %s: %w", turn.ID, err)
		}
	}
	text, err := brief.Write(turn)
	if err != nil {
		return nil, err
	}
	prompt := text.Text
	if text.System != "" {
		prompt = text.System + "\n\n" + text.Text
	}
	kind := "amp_" + string(e.Type)
	switch {
	case turn.Prompt != nil:
		kind = "prompt"
	case len(turn.Message) == 0:
		kind = "amp_plan"
	}
	m := &Message{
		MessageID: MessageID(idOf(turn, e.MsgID)), Timestamp: stamp(e.MsgID),
		Sender:    Identifier{AgentID: Coordinator, Framework: Framework, SessionID: string(turn.Task)},
		Recipient: Identifier{AgentID: to, Framework: FrameworkOf(to), SessionID: turn.Session},
		Type:      TaskRequest, Priority: priorityOf(turn, e.Payload),
		Routing: Routing{
			Timeout: strconv.Itoa(timeoutOf(&e)) + "s", RetryPolicy: RetryPolicy{MaxRetries: 2, Backoff: Exponential}, FallbackAgents: fallback,
			DeliveryMode: Async,
		},
		Metadata: map[string]jsontext.Value{"task_id": quote(string(turn.Task)), "arbiter": aboutTurn(turn)},
	}
	if len(turn.Message) > 0 {
		m.Metadata["amp"] = withoutPayload(turn.Message)
	}
	if len(e.ContextRef) > 0 {
		m.Metadata["session_trace"] = value(e.ContextRef)
	}
	m.Payload = payloadOf(turn, kind, &e, prompt)
	raw, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("write the request of turn %s: %w", turn.ID, err)
	}
	sent, _, err := decode(raw, false, maxOwn) // what a receiver would refuse is not sent
	if err != nil {
		return nil, fmt.Errorf("write the request of turn %s: %w", turn.ID, err)
	}
	return sent, nil
}

// idOf names what a turn asks.
func idOf(turn *providers.Turn, msgID string) string {
	if msgID == "" {
		msgID = "turn-" + turn.ID
	}
	switch {
	case turn.Reply != nil:
		return msgID + "\x00" + turn.Reply.Question + "\x00" + turn.Reply.Answer
	case len(turn.Refused) > 0:
		return msgID + "\x00" + strings.Join(turn.Refused, "\x00")
	}
	return msgID
}

// stamp is when an AMP message was made, now of one that does not say.
func stamp(msgID string) string {
	if _, _, at, err := amp.ParseMsgID(msgID); err == nil {
		return amp.FormatTime(at)
	}
	return amp.FormatTime(time.Now())
}

func timeoutOf(e *envelope) int {
	if e.TimeoutSec > 0 {
		return min(e.TimeoutSec, int(maxTimeout/time.Second))
	}
	if d := e.Type.AckTimeout(); d > 0 {
		return int(d / time.Second)
	}
	return 300
}

// priorityOf is critical when the turn follows a critical escalation, else as the risk is.
func priorityOf(turn *providers.Turn, payload jsontext.Value) Priority {
	risk := textOf(member(payload, "risk_level"))
	for _, c := range turn.Context {
		var of struct {
			Type    amp.MessageType `json:"type"`
			Payload struct {
				Severity  amp.Severity  `json:"severity"`
				RiskLevel amp.RiskLevel `json:"risk_level"`
			} `json:"payload"`
		}
		if json.Unmarshal(c, &of, liberal...) != nil {
			continue
		}
		if of.Type == amp.EscalationMsg && of.Payload.Severity == amp.Critical {
			return Critical
		}
		if risk == "" && of.Type == amp.TaskDispatch {
			risk = string(of.Payload.RiskLevel)
		}
	}
	switch amp.RiskLevel(risk) {
	case amp.High:
		return High
	case amp.Low:
		return Low
	case amp.Medium:
	}
	return Medium
}

// aboutTurn is what an agent may want to know of the turn besides the message.
func aboutTurn(turn *providers.Turn) jsontext.Value {
	about := map[string]any{"turn_id": turn.ID, "role": turn.Role, "epoch": turn.Epoch}
	for name, text := range map[string]string{
		"subtask_id": turn.Subtask, "working_directory": turn.Dir, "session": turn.Session, "branch": turn.Work.Branch,
	} {
		if text != "" {
			about[name] = text
		}
	}
	if turn.Work.BaseCommit != "" {
		about["workspace"] = turn.Work
	}
	if turn.Ask != nil {
		about["asks"] = true
	}
	if turn.Reply != nil {
		about["reply"] = turn.Reply
	}
	if len(turn.Refused) > 0 {
		about["refused"] = turn.Refused
	}
	return value(about)
}

// withoutPayload is an AMP message's envelope.
func withoutPayload(message []byte) jsontext.Value {
	var all map[string]jsontext.Value
	if json.Unmarshal(message, &all, liberal...) != nil {
		return jsontext.Value("{}")
	}
	delete(all, "payload")
	return value(all)
}

// payloadOf holds the AMP payload flat, as the specification has it, and once more under payload, where adapters look for it, with the prompt
// for any CLI and the whole AMP message (B05).
func payloadOf(turn *providers.Turn, kind string, e *envelope, prompt string) jsontext.Value {
	flat, nested := map[string]jsontext.Value{}, map[string]jsontext.Value{}
	if e.Payload.Kind() == '{' {
		if json.Unmarshal(e.Payload, &flat, liberal...) != nil || json.Unmarshal(e.Payload, &nested, liberal...) != nil {
			flat, nested = map[string]jsontext.Value{}, map[string]jsontext.Value{}
		}
	}
	nested["prompt"] = quote(prompt)
	if nested["description"] == nil {
		nested["description"] = quote(clip(prompt, 4000))
	}
	if len(turn.Message) > 0 {
		nested["amp"] = jsontext.Value(turn.Message)
	}
	if len(turn.Context) > 0 {
		list := make([]jsontext.Value, len(turn.Context))
		for i, c := range turn.Context {
			list[i] = jsontext.Value(c)
		}
		nested["context"] = value(list)
	}
	if turn.Dir != "" {
		nested["working_directory"] = quote(turn.Dir)
	}
	flat["payload"], flat["task_type"] = value(nested), quote(kind)
	return value(flat)
}
