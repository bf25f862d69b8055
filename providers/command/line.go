package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"arbiter/amp"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// line is one line of the program's output, understood.
type line struct {
	event   event
	text    string // of text: what was written; of broken: what is wrong; of session: its name
	ack     *amp.Ack
	payload []byte // verbatim
	isText  bool   // a final answer that is text
	// permission is a request, whose id is text.
	permission *amp.Permission
	tokens     int
	cost       float64
}

// event is what a line says.
type event string

const (
	isEmpty      event = ""
	isText       event = "text"    // no JSON object
	isUnknown    event = "unknown" // skipped
	isBroken     event = "broken"  // an event without what it needs
	isAck        event = "ack"
	isProgress   event = "progress"
	isSession    event = "session"
	isEscalation event = "escalation"
	isUsage      event = "usage"
	isFinal      event = "final"
	isPermission event = "permission"
	isQuestion   event = "question"
)

// liberal reads what the strict reader of messages will judge later: a message that breaks a rule is to be refused there, with its
// bytes on record, not lost here.
var liberal = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parse understands one line. It never fails: what is no event is text.
func parse(raw []byte) line {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return line{}
	}
	if raw[0] != '{' {
		return line{event: isText, text: program.Text(raw)}
	}
	fields, err := members(raw)
	if err != nil {
		return line{event: isText, text: fmt.Sprintf("%s (no JSON object: %v)", program.Text(raw), err)}
	}
	if _, message := fields["protocol_version"]; message {
		if text(fields["type"]) == string(amp.EscalationMsg) {
			return line{event: isEscalation, payload: raw}
		}
		return line{event: isFinal, payload: raw}
	}
	return understand(event(text(fields["event"])), fields)
}

// understand reads the fields that the event needs.
func understand(e event, fields map[string]jsontext.Value) line {
	l := line{event: e}
	switch e {
	case isAck:
		var criteria []string
		if raw, there := fields["echoed_acceptance_criteria"]; there {
			if err := json.Unmarshal(raw, &criteria); err != nil {
				return broken("ack: echoed_acceptance_criteria is no list of texts")
			}
		}
		l.ack = &amp.Ack{Status: amp.AckStatus(text(fields["status"])), Reason: text(fields["reason"]), EchoedAcceptanceCriteria: criteria}
		if l.ack.Status != amp.AckAccepted && l.ack.Status != amp.AckRefused {
			return broken("ack: status is neither accepted nor refused")
		}
	case isProgress:
		l.text = program.Text([]byte(text(fields["text"])))
	case isSession:
		if l.text = text(fields["session"]); l.text == "" {
			return broken("session: no session is named")
		}
	case isQuestion:
		if l.text = text(fields["text"]); strings.TrimSpace(l.text) == "" {
			return broken("question: no text")
		}
	case isPermission:
		return request(fields)
	case isUsage:
		l.tokens, l.cost = count(fields["tokens"]), amount(fields["cost_usd"])
	case isEscalation, isFinal:
		l.payload = fields["payload"]
		if v, there := fields["text"]; e == isFinal && l.payload == nil && there {
			l.text, l.isText = text(v), v.Kind() == '"'
			if !l.isText {
				return broken("final: text is no text")
			}
			return l
		}
		if jsontext.Value(l.payload).Kind() != '{' {
			return broken(string(e) + ": payload is no object")
		}
	default:
		return line{event: isUnknown}
	}
	return l
}

func broken(why string) line { return line{event: isBroken, text: why} }

// members are the fields of an object, each as its bytes. A name that comes twice is an error: nobody can say which one counts.
func members(raw []byte) (map[string]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), liberal...)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	fields := map[string]jsontext.Value{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if _, twice := fields[key]; twice && key != "protocol_version" && key != "type" {
			if _, message := fields["protocol_version"]; !message {
				return nil, fmt.Errorf("%q is there twice", key)
			}
		}
		fields[key] = value.Clone()
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the object")
	}
	return fields, nil
}

// text is a JSON string's value, "" of anything else.
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return s
}

// count is a JSON number as a non-negative int, 0 of anything else.
func count(v jsontext.Value) int {
	n := amount(v)
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}

// amount is a JSON number that is not negative, 0 of anything else.
func amount(v jsontext.Value) float64 {
	var f float64
	if v.Kind() != '0' || json.Unmarshal(v, &f) != nil || f < 0 || math.IsInf(f, 0) {
		return 0
	}
	return f
}
