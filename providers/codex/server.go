package codex

import (
	"fmt"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The numbers of our requests; what comes after them has no answer that counts.
const (
	callInitialize = 1 + iota
	callResume
	callThread
	callTurn
	callLater
)

// call is what we send: a request, or a notification without a number.
type call struct {
	ID     int    `json:"id,omitzero"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// reply is our answer to a request of codex.
type reply struct {
	ID     jsontext.Value `json:"id"`
	Result any            `json:"result,omitzero"`
	Error  *refusal       `json:"error,omitzero"`
}

type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type threadParams struct {
	ThreadID  string `json:"threadId,omitzero"`
	Cwd       string `json:"cwd"`
	Approval  string `json:"approvalPolicy"`
	Sandbox   string `json:"sandbox"`
	Developer string `json:"developerInstructions,omitzero"`
	// NoTurns leaves the history out of the reply to a resume.
	NoTurns bool `json:"excludeTurns,omitzero"`
}

type turnParams struct {
	ThreadID string         `json:"threadId"`
	Expected string         `json:"expectedTurnId,omitzero"`
	Input    []input        `json:"input"`
	Schema   jsontext.Value `json:"outputSchema,omitzero"`
}

type input struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func texts(text string) []input { return []input{{Type: "text", Text: text}} }

// send writes one object to codex.
func (r *run) send(v any) {
	line, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil { // a schema that is no JSON, which brief does not write
		r.session.Fail(providers.FailConfig, "what codex is to be told cannot be written: %v", err)
		return
	}
	r.session.Process.Send(append(line, '\n'))
}

// greet begins the conversation.
func (r *run) greet() {
	r.send(call{callInitialize, "initialize", map[string]any{"clientInfo": clientInfo{"arbiter", "1"}}})
}

// heard handles one line of the app-server.
func (r *run) heard(raw []byte) {
	e := decode(raw)
	if e.thread != "" && r.thread != "" && e.thread != r.thread {
		return // of another thread: a helper that codex started
	}
	r.common(&e)
	switch e.kind {
	case isReply:
		r.replied(&e)
	case isRequest:
		r.asked(&e)
	case isResolved:
		if forget := r.asks[string(e.id)]; forget != nil {
			forget()
		}
	case isStarted:
		r.open[e.item.id] = e.item
	case isItem:
		delete(r.open, e.item.id)
	case isUsage:
		r.used(&e)
	case isEnd:
		r.session.Done()
	case isText, isUnknown, isThread, isTurn, isWarning, isRetry:
	default:
		panic("codex: unreachable event " + string(e.kind))
	}
}

// replied goes on to the next step of the conversation.
func (r *run) replied(e *event) {
	if e.trouble != nil && e.reply == callResume {
		r.progress("session " + r.resume + " is not known any more: a new one begins (" + program.Short([]byte(e.trouble.Words), shortText) + ")")
		r.send(call{callThread, "thread/start", r.threadParams("")})
		return
	}
	if e.trouble != nil && e.reply < callLater {
		if e.trouble.Class == "" && e.reply < callTurn {
			e.trouble.Class = providers.FailConfig
		}
		r.session.FailWith(e.trouble.Error())
		return
	}
	switch e.reply {
	case callInitialize:
		r.send(call{Method: "initialized"})
		if r.resume != "" {
			r.send(call{callResume, "thread/resume", r.threadParams(r.resume)})
			return
		}
		r.send(call{callThread, "thread/start", r.threadParams("")})
	case callResume, callThread:
		r.model = e.model
		r.named(e.thread)
		r.send(call{callTurn, "turn/start", turnParams{ThreadID: r.thread, Input: texts(r.prompt.Text), Schema: r.prompt.Schema}})
	case callTurn:
		r.turnID = e.turn
		r.accept()
	}
}

func (r *run) threadParams(thread string) threadParams {
	s := settings{writes: !program.ReadsOnly(r.turn)}
	return threadParams{ThreadID: thread, Cwd: r.turn.Dir, Approval: s.approval(), Sandbox: s.sandbox(), Developer: r.prompt.System, NoTurns: thread != ""}
}

// used takes the thread's usage. What it was before this turn is what it is now without the first request.
func (r *run) used(e *event) {
	if !r.acked || e.turn != r.turnID {
		return // it is told again of an earlier turn
	}
	if !r.based {
		r.base, r.based = e.total.minus(e.last), true
	}
	r.total = e.total
}

// asked puts a request of codex to the turn's Ask, or declines what has no form that holds once.
func (r *run) asked(e *event) {
	id := string(e.id)
	switch {
	case e.method != askCommand && e.method != askChange:
		r.progress("asked for what is not granted: " + program.Short([]byte(e.method), shortText))
		r.send(reply{ID: e.id, Error: &refusal{-32601, "not supported: go on without it"}})
		return
	case len(e.ask.Request) > program.MaxRequest:
		r.decide(e.id, providers.Decision{Reason: "the request is too long to be shown to a person"})
		return
	}
	if item, ok := r.open[e.item.id]; ok {
		if e.ask.Command == "" && e.ask.Type == providers.PermitRun {
			e.ask.Command = item.command
		}
		e.ask.Paths = append(e.ask.Paths, item.paths...)
	}
	if e.ask.Dir == "" {
		e.ask.Dir = r.turn.Dir
	}
	r.asks[id] = r.session.Ask(r.turn, e.ask, func(d providers.Decision) {
		delete(r.asks, id)
		r.decide(e.id, d)
	})
}

// decide answers a request, once. The protocol has no room for the reason of a no: it follows as a word of the admin.
func (r *run) decide(id jsontext.Value, d providers.Decision) {
	decision := "decline"
	if d.Allow {
		decision = "accept"
	}
	r.send(reply{ID: id, Result: map[string]string{"decision": decision}})
	if !d.Allow && d.Reason != "" && r.turnID != "" {
		text := fmt.Sprintf("The request was declined. The reason: %s", d.Reason)
		r.told++
		r.send(call{callLater + r.told, "turn/steer", turnParams{ThreadID: r.thread, Expected: r.turnID, Input: texts(text)}})
	}
}

// interrupt asks codex to end its turn.
func (r *run) interrupt() {
	if r.turnID == "" || r.ended {
		r.session.Done()
		return
	}
	r.told++
	r.send(call{callLater + r.told, "turn/interrupt", map[string]string{"threadId": r.thread, "turnId": r.turnID}})
}
