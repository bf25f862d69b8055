package codex

import (
	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// event is one line of codex's output, understood; the same for both modes.
type event struct {
	kind kind
	// text is what a person reads of it: a line of progress, a warning, what was not understood.
	text string
	// of isReply: which of our requests it answers, and the code of an error.
	reply int
	// thread and turn are ids, model is the model's name; of replies and isThread.
	thread, turn, model string
	// item is what codex did or said.
	item item
	// total is the usage of the whole thread, last that of its last request.
	total, last usage
	// trouble is why a turn or a request failed.
	trouble *program.Trouble
	// id, method and ask are of isRequest; id goes back with the answer. Of isResolved id is the request's.
	id     jsontext.Value
	method string
	ask    providers.Permission
	// status is how a turn ended.
	status string
}

// kind is what a line says.
type kind string

const (
	isUnknown  kind = ""     // skipped
	isText     kind = "text" // no event, or one that cannot be read
	isReply    kind = "reply"
	isRequest  kind = "request"
	isResolved kind = "resolved" // a request of codex is answered or taken back
	isThread   kind = "thread"
	isTurn     kind = "turn" // it began
	isStarted  kind = "item started"
	isItem     kind = "item" // it is complete
	isUsage    kind = "usage"
	isWarning  kind = "warning"
	isRetry    kind = "retry"
	isEnd      kind = "end" // of the turn
)

// item is one thing that codex did or said.
type item struct {
	id   string
	what what
	// text is a message, or the words of any other item.
	text    string
	command string
	exit    *int
	paths   []string
	status  string
}

// what an item is.
type what string

const (
	aMessage what = "message"
	aCommand what = "command"
	aChange  what = "change"
	aCall    what = "call"
	aSearch  what = "search"
	aWarning what = "warning"
)

// shortText is the most bytes of a command or a name in a line of progress.
const shortText = 300

// begins is the line of progress when the item begins, empty when there is none to show.
func (i *item) begins() string {
	switch i.what {
	case aCommand:
		return "runs " + program.Short([]byte(i.command), shortText)
	case aCall:
		return "calls " + i.text
	case aSearch:
		return "searches for " + i.text
	case aMessage, aChange, aWarning:
	}
	return ""
}

// ends is the line of progress when the item is complete. Of a message it is the message, unless it looks like the answer.
func (i *item) ends() string {
	switch i.what {
	case aMessage:
		if t := program.Text([]byte(i.text)); t != "" && t[0] != '{' {
			return t
		}
	case aCommand:
		switch {
		case i.status == "declined":
			return "was not allowed to run " + program.Short([]byte(i.command), shortText)
		case i.exit != nil && *i.exit != 0:
			return program.Exit(i.exit) + " of " + program.Short([]byte(i.command), shortText)
		}
	case aChange:
		names := program.Short([]byte(join(i.paths)), shortText)
		switch i.status {
		case "declined":
			return "was not allowed to change " + names
		case "failed":
			return "could not change " + names
		}
		return "changes " + names
	case aCall:
		if i.status == "failed" {
			return "the call of " + i.text + " failed"
		}
	case aWarning:
		return "warning: " + i.text
	case aSearch:
	}
	return ""
}
