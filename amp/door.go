package amp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one AMP message and validates it as [Validate] does. It refuses more than [MaxMessage] bytes, nesting deeper than
// [MaxDepth], comments, duplicate names, names in another case, invalid UTF-8 and anything after the message (AMP-004). The error
// is an [*InvalidError] with every problem. Warnings are what was accepted all the same: unknown names (AMP-031, A28) and what
// the rules recommend. Decode keeps nothing of data.
func Decode(data []byte) (m *Message, warnings []Problem, err error) {
	return decode(data, false)
}

// DecodeStrict is [Decode], but unknown names are problems (AMP-031).
func DecodeStrict(data []byte) (m *Message, warnings []Problem, err error) {
	return decode(data, true)
}

func decode(data []byte, strict bool) (*Message, []Problem, error) {
	if err := limits(data); err != nil {
		return nil, nil, err
	}
	m, err := read(data)
	r := &report{}
	in := inspection{report: r, data: data, strict: strict}
	if err != nil || kindOf(data) != "object" {
		if m, err = in.mend(); err != nil {
			return nil, nil, err
		}
	} else {
		in.value(shapeOf(m.Type), "AMP-004")
	}
	m.normalise()
	r.message(m)
	if len(r.problems) > 0 {
		return nil, r.warnings, &InvalidError{Problems: r.problems}
	}
	return m, r.warnings, nil
}

// mend reads what [read] could not: it is no JSON object, or something in it has the wrong type. Then all that has it
// is reported, and the rest is read.
func (in *inspection) mend() (*Message, error) {
	var root jsontext.Value
	if err := json.Unmarshal(in.data, &root); err != nil {
		return nil, syntaxError(in.data, err)
	}
	if k := kindOf(root); k != "object" {
		return nil, invalid("AMP-004", "", "is %s, expected one JSON object", article(k))
	}
	var probe struct {
		Type MessageType `json:"type"`
	}
	_ = json.Unmarshal(in.data, &probe) // a type that cannot be read is reported below
	in.repair = true
	in.value(shapeOf(probe.Type), "AMP-004")
	m, err := read(in.clean)
	if err != nil { // a number in a free object may be too large for any reader
		return nil, invalid("AMP-030", fieldOf(err), "cannot be read: %s", cause(err))
	}
	return m, nil
}

func limits(data []byte) error {
	if len(data) > MaxMessage {
		return invalid("AMP-004", "", "is %d bytes long, more than the %d that are allowed", len(data), MaxMessage)
	}
	if depth := DepthOf(data); depth > MaxDepth {
		return invalid("AMP-004", "", "is nested %d levels deep, more than the %d that are allowed", depth, MaxDepth)
	}
	return nil
}

// Encode writes a message in the order of the specification, after validating it: the error is an [*InvalidError] with every
// problem. What Encode writes, [Decode] accepts. Text that is no UTF-8, such as the output of a program in a description, has
// U+FFFD in its place: an escalation must not be lost for it.
func Encode(m *Message) ([]byte, error) {
	if problems := Validate(m); len(problems) > 0 {
		return nil, &InvalidError{Problems: problems}
	}
	w := envelopeOut{
		MsgID: m.MsgID, ProtocolVersion: m.ProtocolVersion, Type: m.Type, From: m.From, To: m.To, TaskID: m.TaskID,
		Timestamp: m.Timestamp, RequiresAck: m.RequiresAck, AckTimeoutSec: m.AckTimeoutSec, ContextRef: m.ContextRef,
		Payload: stored(m.Payload),
	}
	data, err := json.Marshal(&w, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, invalid("AMP-004", fieldOf(err), "cannot be written as JSON: %s", cause(err))
	}
	if err := limits(data); err != nil {
		return nil, err
	}
	return data, nil
}

// DecodeBody reads the body of an entry that is not a message. Names that this version does not know are skipped: a newer version
// wrote them.
func DecodeBody[T any](e *Entry) (T, error) {
	var v T
	if kindOf(e.Body) != "object" {
		return v, errors.New("the body is no JSON object")
	}
	err := json.Unmarshal(e.Body, &v)
	return v, err
}

// Raw is a JSON value as it was written.
type Raw = jsontext.Value

// EncodeBody writes the body of an entry that is not a message. Equal values give equal bytes. What is no UTF-8, such as the
// output of a program, has U+FFFD in its place. It panics on a value that JSON cannot hold, since only a broken program has one.
func EncodeBody(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("encode a %T: %v", v, err))
	}
	return b
}

// writeJSON and readJSON are the door for the package's own wire structs.
func writeJSON(v any) ([]byte, error) { return json.Marshal(v) }

func readJSON(data []byte, v any) error { return json.Unmarshal(data, v) }

// envelopeOut is the wire form of a message, its members in the order of the specification.
type envelopeOut struct {
	MsgID           string      `json:"msg_id"`
	ProtocolVersion string      `json:"protocol_version"`
	Type            MessageType `json:"type"`
	From            Role        `json:"from"`
	To              Role        `json:"to"`
	TaskID          TaskID      `json:"task_id"`
	Timestamp       string      `json:"timestamp"`
	RequiresAck     bool        `json:"requires_ack"`
	AckTimeoutSec   int         `json:"ack_timeout_sec,omitzero"`
	ContextRef      []string    `json:"context_ref,omitzero"`
	Payload         Payload     `json:"payload"`
}

// envelopeIn is the wire form as it is read.
type envelopeIn struct {
	MsgID           string      `json:"msg_id"`
	ProtocolVersion string      `json:"protocol_version"`
	Type            MessageType `json:"type"`
	From            Role        `json:"from"`
	To              Role        `json:"to"`
	TaskID          TaskID      `json:"task_id"`
	Timestamp       string      `json:"timestamp"`
	RequiresAck     bool        `json:"requires_ack"`
	AckTimeoutSec   *int        `json:"ack_timeout_sec"`
	ContextRef      []string    `json:"context_ref"`
	Payload         payloadSlot `json:"payload"`
}

// payloadSlot decodes the payload in the same pass when type stands before it, which every writer that follows the order of the
// specification does; otherwise it keeps the bytes for later.
type payloadSlot struct {
	env     *envelopeIn
	payload Payload
	raw     jsontext.Value
}

// UnmarshalJSONFrom reads the payload as the type of the message decides.
func (s *payloadSlot) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if s.payload = newPayload(s.env.Type); s.payload != nil {
		return json.UnmarshalDecode(dec, s.payload)
	}
	v, err := dec.ReadValue()
	s.raw = v.Clone()
	return err
}

// read decodes a message. It does not see what is missing, null or unknown; an inspection does.
func read(data []byte) (*Message, error) {
	var env envelopeIn
	env.Payload.env = &env
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, err
	}
	p := env.Payload.payload
	if p == nil && env.Payload.raw != nil {
		if p = newPayload(env.Type); p != nil {
			if err := json.Unmarshal(env.Payload.raw, p); err != nil {
				return nil, err
			}
		}
	}
	m := &Message{
		MsgID: env.MsgID, ProtocolVersion: env.ProtocolVersion, Type: env.Type, From: env.From, To: env.To,
		TaskID: env.TaskID, Timestamp: env.Timestamp, RequiresAck: env.RequiresAck, ContextRef: env.ContextRef, Payload: p,
	}
	if env.AckTimeoutSec != nil {
		if m.AckTimeoutSec = *env.AckTimeoutSec; m.AckTimeoutSec == 0 {
			m.AckTimeoutSec = noTimeout
		}
	}
	return m, nil
}

// noTimeout stands for a written 0, which is no timeout; the zero value means that none was written.
const noTimeout = -1

// newPayload is an empty payload for messages of this type, or nil.
func newPayload(t MessageType) Payload {
	switch t {
	case TaskDispatch:
		return new(Dispatch)
	case TaskResult:
		return new(Result)
	case ReviewRequest:
		return new(Request)
	case ReviewVerdict:
		return new(Verdict)
	case EscalationMsg:
		return new(Escalation)
	}
	return nil
}

// eachValue calls f with every string and number in data, but not with the names of members, nor with what stands in a member of
// the outermost object that is to be skipped. It fails when data is no JSON; f may have been called by then.
func eachValue(data []byte, skip string, f func(string)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kind := tok.Kind()
		if kind != '"' && kind != '0' {
			continue
		}
		depth := dec.StackDepth()
		if in, n := dec.StackIndex(depth); in != '{' || n%2 == 0 {
			f(tok.String())
		} else if depth == 1 && skip != "" && tok.String() == skip {
			if err := dec.SkipValue(); err != nil {
				return err
			}
		}
	}
}

// quote appends s as a JSON string.
func quote(dst []byte, s string) []byte {
	dst, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		panic(err) // the names of the shapes are plain words
	}
	return dst
}

// unquote is the text of a valid JSON string.
func unquote(raw []byte) []byte {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return raw
	}
	return text
}

// canonical is the RFC 8785 form of v: independent of the order of fields in a struct and of keys in a map.
func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	c := jsontext.Value(b)
	if err := c.Canonicalize(); err != nil {
		return nil, err
	}
	return c, nil
}

// syntaxError says where and why data is no JSON that the door accepts.
func syntaxError(data []byte, err error) error {
	offset := int64(0)
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		offset = min(max(syn.ByteOffset, 0), int64(len(data)))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return invalid("AMP-004", fieldOf(err), "stands twice in its object; which one counts is undefined")
		}
	}
	line := 1 + bytes.Count(data[:offset], []byte{'\n'})
	column := int(offset) - bytes.LastIndexByte(data[:offset], '\n')
	if rest := data[offset:]; bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) {
		return invalid("AMP-004", fieldOf(err), "holds a comment at line %d, column %d; comments are not allowed on the wire", line, column)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return invalid("AMP-004", "", "is empty, expected one JSON object")
	}
	return invalid("AMP-004", fieldOf(err), "is no valid JSON at line %d, column %d: %s", line, column, cause(err))
}

// fieldOf is the place of a JSON error as a field path.
func fieldOf(err error) string {
	var p jsontext.Pointer
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		p = syn.JSONPointer
	} else if sem, ok := errors.AsType[*json.SemanticError](err); ok {
		p = sem.JSONPointer
	}
	path := ""
	for tok := range p.Tokens() {
		if n, err := strconv.Atoi(tok); err == nil && path != "" {
			path = at(path, n)
		} else {
			path = join(path, tok)
		}
	}
	return path
}

// cause is what went wrong in a JSON error, without the place and the library's name.
func cause(err error) string {
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syn.Err != nil {
		return strings.TrimPrefix(syn.Err.Error(), "jsontext: ")
	}
	if sem, ok := errors.AsType[*json.SemanticError](err); ok && sem.Err != nil {
		return sem.Err.Error()
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "jsontext: ")
}
