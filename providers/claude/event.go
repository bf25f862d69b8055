package claude

import (
	"time"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// event is one line of claude's output, understood.
type event struct {
	kind kind
	// text are lines of progress.
	text []string
	// session and model are of isInit.
	session, model string
	// id is that of a request, or of the reply's; subtype says what is asked.
	id, subtype string
	ask         providers.Permission
	input       jsontext.Value // what the tool would be given
	problem     string         // of isReply, when it is an error
	result      result
	// reset is when a limit ends.
	reset time.Time
}

// kind is what a line says.
type kind string

const (
	isUnknown kind = "" // skipped
	isText    kind = "text"
	isInit    kind = "init"
	isSaid    kind = "said" // by the model, or by a tool
	isRequest kind = "request"
	isForget  kind = "forget" // a request is taken back
	isReply   kind = "reply"
	isLimit   kind = "limit"
	isResult  kind = "result"
)

// result is the terminal event.
type result struct {
	failed  bool
	subtype string
	status  int
	words   string
	value   jsontext.Value // the structured output, empty without one
	denied  []string       // the tools that were denied
	usage   providers.Usage
}

// trouble is why the turn failed, nil when it did not. The subtype says "success" of failed requests too.
func (r *result) trouble() *program.Trouble {
	if !r.failed {
		return nil
	}
	t := &program.Trouble{Status: r.status, Words: r.words}
	switch r.subtype {
	case "error_max_turns", "error_max_budget_usd":
		t.Class = providers.FailQuota
	}
	if t.Words == "" {
		t.Words = r.subtype
	}
	return t
}
