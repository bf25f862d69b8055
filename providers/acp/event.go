package acp

import (
	"cmp"
	"strings"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// event is one line of the program, understood.
type event struct {
	kind kind
	// text is what a person reads of it, or a piece of a message.
	text string
	// message names the message that a piece belongs to, where the program names it.
	message string
	// session is the session of a notification or request.
	session string
	// reply is which of our requests isReply answers, and result what it says; code is that of an error, whose words are text.
	reply  int
	failed bool
	code   int
	result result
	// id and method are of isRequest; id goes back with the answer. options are those of a request for permission.
	id      jsontext.Value
	method  string
	ask     providers.Permission
	options []option
	// call is what the program does, of isCall and isRequest.
	call call
	// cost is the price of the session so far, of isUsage.
	cost float64
}

// kind is what a line says.
type kind string

const (
	isEmpty   kind = ""
	isText    kind = "text"    // no message of the protocol
	isUnknown kind = "unknown" // skipped
	isReply   kind = "reply"
	isRequest kind = "request"
	isPiece   kind = "piece" // of what the model says
	isCall    kind = "call"
	isUsage   kind = "usage"
	isMode    kind = "mode"
)

// option is one way to answer a request for permission.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// call is what is known of one call of a tool.
type call struct {
	id, title, kind, status string
	command                 string
	paths                   []string
	told                    bool // there was a line of progress
}

// shortText is the most bytes of a command or a name in a line of progress.
const shortText = 300

// merge takes over what an update says.
func (c *call) merge(u call) {
	c.id, c.title, c.kind = cmp.Or(u.id, c.id), cmp.Or(u.title, c.title), cmp.Or(u.kind, c.kind)
	c.status, c.command = cmp.Or(u.status, c.status), cmp.Or(u.command, c.command)
	for _, p := range u.paths {
		c.paths = appendNew(c.paths, p)
	}
}

// line is the line of progress of a call.
func (c *call) line() string {
	title := program.Text([]byte(c.title))
	if c.command != "" {
		title = program.Short([]byte(c.command), shortText)
	}
	files := program.Short([]byte(strings.Join(c.paths, ", ")), shortText)
	switch {
	case c.kind == "execute":
		return "runs " + title
	case files != "" && (c.kind == "edit" || c.kind == "delete" || c.kind == "move"):
		return "changes " + files
	case files != "" && c.kind == "read":
		return "reads " + files
	}
	return title
}
