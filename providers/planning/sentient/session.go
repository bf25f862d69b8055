package sentient

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// Session judges the messages of one chain in their order. The zero Session has none yet. It is not safe for concurrent use.
type Session struct {
	// Strict makes unknown properties errors.
	Strict   bool
	messages []*Message
}

// Judged is what became of one message in its session.
type Judged struct {
	// Message is nil when nothing could be read.
	Message *Message
	// Copy is the message with the repairs, everything else as it was written; empty when nothing could be read.
	Copy []byte
	Report
}

// Held reports whether the message must not be forwarded.
func (j *Judged) Held() bool { return len(j.Errors) > 0 }

// Judge reads the next message and judges it by itself and by the messages before it: ids are overwritten with the parent's (SEN-060, SEN-061),
// an invented parent too when only one message can be it (S04). The message then belongs to the session, held or not, when it can be
// read.
func (s *Session) Judge(data []byte) Judged {
	r, data := &reader{strict: s.Strict}, bytes.TrimSpace(data)
	m := r.message(data)
	if m == nil {
		return Judged{Report: r.Report}
	}
	c := &link{reader: r, session: s, m: m}
	if slices.ContainsFunc(s.messages, func(p *Message) bool { return p.ID == m.ID }) && m.ID != "" {
		r.errorf("SEN-003", "message_id", "is %q, which stands for another message of the session already", clip(m.ID))
	}
	if m.Sequence > 1 || len(s.messages) > 0 && m.Sequence == 1 {
		c.continuity()
	}
	if c.parent != nil {
		c.inherit()
		c.integrity()
		c.resources()
	}
	s.messages = append(s.messages, m)
	return Judged{Message: m, Copy: overwrite(data, r.Repairs), Report: r.Report}
}

// Messages are the messages of the session, with their repairs, oldest first.
func (s *Session) Messages() []*Message { return slices.Clone(s.messages) }

// link is a message and the one before it.
type link struct {
	*reader
	session *Session
	m       *Message
	parent  *Message
}

// continuity finds the parent (SEN-067) and compares the numbers (SEN-054, SEN-062).
func (c *link) continuity() {
	m, last := c.m, (*Message)(nil)
	if n := len(c.session.messages); n > 0 {
		last = c.session.messages[n-1]
	}
	if last == nil {
		c.errorf("SEN-054", "metadata.sequence_number", "is %d, but no message comes before it", m.Sequence)
		c.errorf("SEN-063", "metadata.parent_message_id", "names no message of the session: there is none yet")
		return
	}
	if m.Sequence != last.Sequence+1 {
		c.errorf("SEN-054", "metadata.sequence_number", "is %d after %d; the numbers of a session have no gaps", m.Sequence, last.Sequence)
	}
	if m.Parent != nil {
		i := slices.IndexFunc(c.session.messages, func(p *Message) bool { return p.ID == *m.Parent })
		if i >= 0 {
			c.parent = c.session.messages[i]
		}
	}
	if c.parent == nil && !c.guessParent() {
		c.errorf("SEN-063", "metadata.parent_message_id", "is %s, which names no message of the session", quoteOr(m.Parent))
		return
	}
	if c.parent.Sequence != m.Sequence-1 {
		c.errorf("SEN-062", "metadata.sequence_number", "is %d, but the parent's is %d", m.Sequence, c.parent.Sequence)
	}
	switch next := c.parent.Next; {
	case next == nil:
		c.warn("SEN-058", "agent.name", "is %q, but message %s ended the chain", clip(m.AgentName), clip(c.parent.ID))
	case *next != m.AgentName:
		c.warn("SEN-058", "agent.name", "is %q, but message %s names %q as next", clip(m.AgentName), clip(c.parent.ID), clip(*next))
	}
	if m.Source != "" && m.Source != c.parent.AgentName {
		c.warn("SEN-011", "input.source", "is %q, but the message before is of %q", clip(m.Source), clip(c.parent.AgentName))
	}
}

// guessParent takes the only message that can be the parent (S04): the number before this one, with this agent as its next.
func (c *link) guessParent() bool {
	var found []*Message
	for _, p := range c.session.messages {
		if p.Sequence == c.m.Sequence-1 && p.Next != nil && *p.Next == c.m.AgentName {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return false
	}
	c.parent = found[0]
	from := "null"
	if c.m.Parent != nil {
		from = string(quote(*c.m.Parent))
	}
	id := c.parent.ID
	c.m.Parent = &id
	c.repair("S04", "metadata.parent_message_id", from, id)
	return true
}

// inherit overwrites what the model is not relied on for (SEN-060, SEN-061, SEN-066).
func (c *link) inherit() {
	if c.m.RequestID != c.parent.RequestID {
		c.repair("SEN-060", "metadata.request_id", string(quote(c.m.RequestID)), c.parent.RequestID)
		c.m.RequestID = c.parent.RequestID
	}
	if c.m.SessionID != c.parent.SessionID {
		c.repair("SEN-061", "metadata.session_id", string(quote(c.m.SessionID)), c.parent.SessionID)
		c.m.SessionID = c.parent.SessionID
	}
}

func (c *link) repair(rule, field, from, to string) {
	c.Repairs = append(c.Repairs, amp.Repair{Rule: rule, Field: field, From: amp.Raw(from), To: amp.Raw(quote(to))})
	if c.mends[field] { // what was wrong with it is gone
		c.Errors = slices.DeleteFunc(c.Errors, func(p amp.Problem) bool { return p.Field == field })
	}
}

// integrity compares what the message says that it was given with what the message before it holds (SEN-053).
func (c *link) integrity() {
	in, out := jsontext.Value(c.m.Input), jsontext.Value(c.parent.Output)
	if len(in) > 0 && len(out) > 0 && in.Kind() != 'n' && c.m.Source == c.parent.AgentName && !equal(in, out) && !(in.Kind() == '"' && equal(jsontext.Value(str(in)), out)) {
		c.errorf("SEN-053", "input.content", "is not what %s wrote; a message repeats it as it is, or null", clip(c.parent.AgentName))
	}
	if c.m.ContentType != Goals {
		return
	}
	given, ok := c.parent.Objectives()
	if !ok {
		return
	}
	taken, _ := c.m.Goals()
	for _, o := range taken {
		if !slices.Contains(given, o.Text) {
			c.errorf("SEN-053", "output.content."+o.Key+".objective", "is %q, which is no objective of the message before", clip(o.Text))
		}
	}
}

// resources compares the refs with the parent's: none dropped (SEN-065), none changed (SEN-034), none made by the wrong agent (SEN-037).
func (c *link) resources() {
	compare(c, "source_refs", c.parent.Sources, c.m.Sources, func(r SourceRef) (string, any) { return r.ID, r }, false)
	compare(c, "storage_refs", c.parent.Stores, c.m.Stores, func(r StorageRef) (string, any) {
		return r.ID, [3]string{r.Source, r.Backend, r.MediaType} // where and since when is filled in later
	}, false)
	compare(c, "derived_refs", c.parent.Derived, c.m.Derived, func(r DerivedRef) (string, any) {
		return r.ID, [3]string{r.Parent, r.AssetType, r.Capability}
	}, c.m.AgentName == PlanningAgent)
}

func compare[T any](c *link, list string, before, now []T, key func(T) (string, any), mints bool) {
	field := "resources." + list
	if c.brokenBelow(field) { // entries that cannot be read are not missing
		return
	}
	for _, b := range before {
		id, was := key(b)
		i := slices.IndexFunc(now, func(n T) bool { k, _ := key(n); return k == id })
		if i < 0 {
			c.errorf("SEN-065", field, "does not hold %s any more; refs are neither dropped nor renamed", id)
			continue
		}
		if _, is := key(now[i]); is != was {
			c.errorf("SEN-034", fmt.Sprintf("%s[%d]", field, i), "%s is not what it was; a ref is never assigned anew", id)
		}
	}
	for i, n := range now {
		id, _ := key(n)
		if !mints && !slices.ContainsFunc(before, func(b T) bool { k, _ := key(b); return k == id }) {
			c.warn("SEN-037", fmt.Sprintf("%s[%d]", field, i), "%s is new, and %s does not assign such refs", id, clip(c.m.AgentName))
		}
	}
}

// brokenBelow reports whether an error was found in a field or below it.
func (r *reader) brokenBelow(field string) bool {
	return slices.ContainsFunc(r.Errors, func(p amp.Problem) bool {
		return p.Field == field || len(p.Field) > len(field) && p.Field[:len(field)] == field && (p.Field[len(field)] == '[' || p.Field[len(field)] == '.')
	})
}

func quoteOr(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", clip(*s))
}

// quote is a JSON string.
func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // it was read from JSON
		panic(err)
	}
	return b
}
