package command

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"arbiter/amp"
	"arbiter/providers/program"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in      string
		event   event
		text    string
		payload string
	}{
		"empty":                      {in: "  \r", event: isEmpty},
		"text":                       {in: "warning: x", event: isText, text: "warning: x"},
		"array":                      {in: `[1]`, event: isText, text: "[1]"},
		"cut object":                 {in: `{"event":"final","payload":{`, event: isText},
		"two objects":                {in: `{"event":"final","payload":{}} {}`, event: isText},
		"progress":                   {in: `{"text":"a\nb","event":"progress"}`, event: isProgress, text: "a b"},
		"progress without text":      {in: `{"event":"progress"}`, event: isProgress},
		"name in another case":       {in: `{"Event":"final","payload":{}}`, event: isUnknown},
		"unknown":                    {in: `{"event":"weather"}`, event: isUnknown},
		"no event":                   {in: `{}`, event: isUnknown},
		"event twice":                {in: `{"event":"progress","event":"final","payload":{}}`, event: isText},
		"final":                      {in: ` {"event":"final","payload":{"a": 1.50}}` + "\r", event: isFinal, payload: `{"a": 1.50}`},
		"final text":                 {in: `{"event":"final","text":"hi"}`, event: isFinal, text: "hi"},
		"final text that is none":    {in: `{"event":"final","text":{}}`, event: isBroken, text: "final: text is no text"},
		"final with names twice":     {in: `{"event":"final","payload":{"a":1,"a":2}}`, event: isFinal, payload: `{"a":1,"a":2}`},
		"final with bad UTF-8":       {in: `{"event":"final","payload":{"a":"` + "\xff" + `"}}`, event: isFinal, payload: `{"a":"` + "\xff" + `"}`},
		"final without payload":      {in: `{"event":"final"}`, event: isBroken},
		"final with text":            {in: `{"event":"final","payload":"done"}`, event: isBroken},
		"final with null":            {in: `{"event":"final","payload":null}`, event: isBroken},
		"message":                    {in: `{"protocol_version":"AMP/1.0","type":"task_result"}`, event: isFinal, payload: `{"protocol_version":"AMP/1.0","type":"task_result"}`},
		"message of another version": {in: `{"protocol_version":2}`, event: isFinal, payload: `{"protocol_version":2}`},
		"message with names twice":   {in: `{"protocol_version":"AMP/1.0","from":"x","from":"y"}`, event: isFinal, payload: `{"protocol_version":"AMP/1.0","from":"x","from":"y"}`},
		"escalation message":         {in: `{"type":"escalation","protocol_version":"AMP/1.0"}`, event: isEscalation, payload: `{"type":"escalation","protocol_version":"AMP/1.0"}`},
		"escalation":                 {in: `{"event":"escalation","payload":{"x":1}}`, event: isEscalation, payload: `{"x":1}`},
		"session":                    {in: `{"event":"session","session":"s"}`, event: isSession, text: "s"},
		"session without a name":     {in: `{"event":"session","session":7}`, event: isBroken},
		"ack":                        {in: `{"event":"ack","status":"accepted"}`, event: isAck},
		"ack of no status":           {in: `{"event":"ack","status":"maybe"}`, event: isBroken},
		"ack with odd criteria":      {in: `{"event":"ack","status":"accepted","echoed_acceptance_criteria":"all"}`, event: isBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := parse([]byte(tc.in))
			if l.event != tc.event || string(l.payload) != tc.payload || tc.text != "" && l.text != tc.text {
				t.Errorf("parse(%s) = %q, text %q, payload %s; want %q, %q, %s", tc.in, l.event, l.text, l.payload, tc.event, tc.text, tc.payload)
			}
		})
	}
}

func TestParse_ackAndUsage(t *testing.T) {
	t.Parallel()
	l := parse([]byte(`{"event":"ack","status":"refused","reason":"no","echoed_acceptance_criteria":["a","b"]}`))
	if l.ack == nil || l.ack.Status != amp.AckRefused || l.ack.Reason != "no" || strings.Join(l.ack.EchoedAcceptanceCriteria, "") != "ab" {
		t.Errorf("ack = %+v", l.ack)
	}
	for in, want := range map[string]line{
		`{"event":"usage","tokens":12,"cost_usd":0.5}`:      {event: isUsage, tokens: 12, cost: 0.5},
		`{"event":"usage","tokens":-1,"cost_usd":-3}`:       {event: isUsage},
		`{"event":"usage","tokens":1e300,"cost_usd":1e999}`: {event: isUsage, tokens: 1<<31 - 1},
		`{"event":"usage","tokens":"many"}`:                 {event: isUsage},
	} {
		if got := parse([]byte(in)); got.event != want.event || got.tokens != want.tokens || got.cost != want.cost {
			t.Errorf("parse(%s) = %+v, want %+v", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"event":"final","payload":{"a":1}}`, `{"protocol_version":"AMP/1.0"}`, `{"event":"ack","status":"accepted"}`, "{", "\xff", "",
		`{"event":"progress","text":"\ud800"}`, `{"event":"usage","tokens":1e400}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		l := parse(in)
		if !utf8.ValidString(l.text) && l.event != isSession {
			t.Errorf("text %q is not valid", l.text)
		}
		if len(l.text) > 4*program.MaxText && l.event != isSession {
			t.Errorf("text has %d bytes", len(l.text))
		}
		if l.payload != nil && !bytes.Contains(in, l.payload) {
			t.Errorf("payload %q is not verbatim from %q", l.payload, in)
		}
		if (l.event == isFinal || l.event == isEscalation) != (l.payload != nil || l.isText) || (l.event == isAck) != (l.ack != nil) {
			t.Errorf("parse(%q) = %+v", in, l)
		}
	})
}
