package tui

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tellLines is an output with the lines that are events of the command protocol in words, and every other one as it was written. One
// line of output stays one line.
func tellLines(raw string) string {
	var out strings.Builder
	out.Grow(len(raw))
	for l := range strings.Lines(raw) {
		text := strings.TrimRight(l, "\r\n")
		if told, ok := tellLine(text); ok {
			text = told
		}
		out.WriteString(text)
		out.WriteByte('\n')
	}
	return out.String()
}

// outputEvent is what lines of the command protocol hold.
type outputEvent struct {
	Event   string         `json:"event"`
	Version string         `json:"protocol_version"`
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	Status  string         `json:"status"`
	Reason  string         `json:"reason"`
	Session string         `json:"session"`
	Tokens  float64        `json:"tokens"`
	CostUSD float64        `json:"cost_usd"`
	Payload jsontext.Value `json:"payload"`
}

// tellLine puts one event into words; false when the line is none.
func tellLine(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") {
		return "", false
	}
	var o outputEvent
	if json.Unmarshal([]byte(text), &o) != nil || o.Event == "" && o.Version == "" {
		return "", false
	}
	row := func(what, rest string) (string, bool) {
		return fmt.Sprintf("%-10s %s", what, strings.Join(strings.Fields(rest), " ")), true
	}
	switch o.Event {
	case "":
		return row("message", o.Type+" "+text)
	case "progress":
		return row("progress", o.Text)
	case "ack":
		return row("ack", o.Status+" "+o.Reason)
	case "session":
		return row("session", o.Session)
	case "usage":
		return row("usage", fmt.Sprintf("%.0f tokens $%.4f", o.Tokens, o.CostUSD))
	case "final", "escalation":
		return row(o.Event, string(o.Payload))
	}
	return row(o.Event, text)
}
