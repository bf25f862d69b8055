package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// run is one turn of the program. Only the session's goroutine touches its fields, but for the gauge.
type run struct {
	agent  *Agent
	turn   *providers.Turn
	prompt providers.Prompt
	emit   func(providers.Event)
	gauge  program.Gauge
	meta   object // of its sessions

	session *program.Session
	resume  string // the session to continue
	name    string // of the session
	mode    string // of the session, as the program says it
	spoke   bool   // the program wrote a message of the protocol
	asking  int    // the number of the prompt that is under way, 0 before the first
	over    bool   // no further prompt follows
	stop    string // how the last one ended

	answer  strings.Builder // what the model says now, or said last
	message string          // its name
	calls   map[string]call
	asks    map[string]func() // open requests, by id as written: how to refuse them
	denied  []string          // the reasons of what was denied since the last prompt
	model   string
	used    providers.Usage // as the program tells it
	cost    float64
}

// play follows the program to its end and proves that nothing of it is left.
func (r *run) play(ctx context.Context, p *sandbox.Process, cage *sandbox.Cage) (providers.Outcome, error) {
	r.session = &program.Session{
		Process: p, Cage: cage, Limits: program.Defaults(r.turn.Limits, r.agent.config.Limits), Log: r.turn.Log,
		Line: r.heard, Tick: r.tick, Interrupt: r.interrupt,
	}
	r.emit(providers.Event{Type: providers.EventStarted, PID: p.PID(), Session: r.turn.Session})
	r.request(callInitialize, "initialize", initializeParams{Version: version, Client: agentName{"arbiter", "1"}})
	end := r.session.Run(ctx)
	if end.LogErr != nil {
		r.progress(fmt.Sprintf("the log of this turn is incomplete: %v", end.LogErr))
	}
	return r.conclude(end)
}

// tick ends a program that would try for ever.
func (r *run) tick() bool {
	if failed := r.gauge.Stuck(); failed != nil && !r.over {
		r.session.FailWith(failed)
	}
	return false
}

func (r *run) progress(text string) {
	if text != "" {
		r.emit(providers.Event{Type: providers.EventProgress, Text: text})
	}
}

// heard handles one line.
func (r *run) heard(raw []byte) {
	e := decode(raw)
	if e.session != "" && e.session != r.name {
		return // of another session, or history while one is loaded
	}
	if e.kind != isText && e.kind != isEmpty {
		r.spoke = true
	}
	switch e.kind {
	case isText:
		r.progress(e.text)
	case isReply:
		r.replied(&e)
	case isRequest:
		r.asked(&e)
	case isPiece:
		if e.message != r.message {
			r.flush()
		}
		r.message = e.message
		r.answer.WriteString(e.text)
	case isCall:
		r.called(e.call)
	case isUsage:
		r.cost = e.cost
	case isMode:
		r.mode = e.text
	case isEmpty, isUnknown:
	default:
		panic("acp: unreachable event " + string(e.kind))
	}
}

// flush shows what the model said, unless it looks like the answer; what it says next is something else.
func (r *run) flush() {
	if said := strings.TrimSpace(r.answer.String()); said != "" && said[0] != '{' {
		r.progress(program.Text([]byte(said)))
	}
	r.answer.Reset()
}

// maxCalls is how many calls may be under way.
const maxCalls = 1000

// called takes note of a call and shows it once, when it is known what it does.
func (r *run) called(u call) {
	if r.asking == 0 {
		return
	}
	c, known := r.calls[u.id]
	if !known {
		r.flush()
		if len(r.calls) >= maxCalls {
			clear(r.calls)
		}
	}
	c.merge(u)
	ended := c.status == "completed" || c.status == "failed"
	if !c.told && (ended || c.status == "in_progress") {
		c.told = true
		r.progress(c.line())
	}
	if c.status == "failed" {
		r.progress("failed: " + c.line())
	}
	r.calls[u.id] = c
	if ended {
		delete(r.calls, u.id)
	}
}

// replied goes on to the next step of the conversation.
func (r *run) replied(e *event) {
	if e.reply >= callPrompt {
		r.prompted(e)
		return
	}
	if e.failed && e.reply == callLoad {
		r.progress("session " + program.Short([]byte(r.resume), shortText) + " is not known any more: a new one begins (" + program.Short([]byte(e.text), shortText) + ")")
		r.open()
		return
	}
	if e.failed && e.reply != callMode {
		r.fail(e, providers.FailConfig)
		return
	}
	switch e.reply {
	case callInitialize:
		switch {
		case e.result.Version != version:
			r.session.Fail(providers.FailConfig, "the program speaks version %d of ACP; version %d is needed", e.result.Version, version)
		case r.resume != "" && e.result.Capabilities.Load:
			r.request(callLoad, "session/load", r.place(r.resume))
		default:
			r.open()
		}
	case callLoad:
		r.begin(r.resume, e)
	case callNew:
		if e.result.Session == "" {
			r.session.Fail(providers.FailConfig, "the program gave its session no name")
			return
		}
		r.begin(e.result.Session, e)
	case callMode:
		if e.failed { // in another mode it might ask nobody
			r.session.Fail(providers.FailConfig, "the program does not go into mode %s: %s", r.agent.preset.mode, program.Short([]byte(e.text), shortText))
			return
		}
		r.say(r.words())
	}
}

// open begins a new session.
func (r *run) open() { r.request(callNew, "session/new", r.place("")) }

func (r *run) place(session string) sessionParams {
	return sessionParams{Session: session, Cwd: r.turn.Dir, Servers: r.servers(), Meta: r.meta}
}

// servers are the MCP servers that the session brings.
func (r *run) servers() []server {
	ours := brief.ServerOf(r.turn, r.agent.config.Tools)
	if ours == nil || r.agent.preset.settles {
		return []server{}
	}
	s := server{Name: brief.ServerName, Command: ours.Command, Args: ours.Args, Env: []variable{}}
	for _, v := range ours.Env {
		s.Env = append(s.Env, variable{v.Name, v.Value})
	}
	return []server{s}
}

// begin is called when there is a session.
func (r *run) begin(name string, e *event) {
	r.name, r.model, r.mode = name, e.result.Models.Current, e.result.Modes.Current
	if !r.agent.preset.forgets {
		r.emit(providers.Event{Type: providers.EventProgress, Text: "session " + program.Short([]byte(name), shortText), Session: name})
	}
	if mode := r.agent.preset.mode; mode != "" && mode != r.mode {
		r.request(callMode, "session/set_mode", modeParams{Session: name, Mode: mode})
		return
	}
	r.say(r.words())
}

// words are the whole prompt; the protocol has no other place for the standing instruction.
func (r *run) words() string {
	if r.prompt.System == "" {
		return r.prompt.Text
	}
	return r.prompt.System + "\n\n" + r.prompt.Text
}

// say prompts the model. The program has the message then, and began: it says nothing of that itself.
func (r *run) say(words string) {
	first := r.asking == 0
	r.asking = max(r.asking+1, callPrompt)
	r.denied, r.message = nil, ""
	r.answer.Reset()
	r.request(r.asking, "session/prompt", promptParams{Session: r.name, Prompt: []text{{"text", words}}})
	if ack := brief.Accept(r.turn); first && ack != nil {
		r.emit(providers.Event{Type: providers.EventAck, Ack: ack})
	}
}

// maxPrompts is how often a program is told why something was denied.
const maxPrompts = 16

// prompted takes the end of a prompt. One that ended because something was denied goes on with the reason.
func (r *run) prompted(e *event) {
	if r.over || e.reply != r.asking {
		r.session.Fail(providers.FailOutput, "it ended its turn twice")
		return
	}
	r.used = r.used.Plus(e.result.usage)
	if e.failed {
		r.fail(e, "")
		return
	}
	ended := e.result.Stop == endTurn || e.result.Stop == "cancelled"
	if ended && len(r.denied) > 0 && strings.TrimSpace(r.answer.String()) == "" && r.asking < callPrompt+maxPrompts {
		r.say("Not allowed: " + strings.Join(r.denied, "; ") + "\n\nGo on without it, and then give your answer in the form that was asked for.")
		return
	}
	r.over, r.stop = true, e.result.Stop
	if r.agent.preset.stays {
		r.session.Limits.Grace = min(r.session.Limits.Grace, time.Second)
	}
	r.session.Done()
}

// authRequired is ACP's code of an error for a program that has no key.
const authRequired = -32000

// fail ends the turn with an error of the program. An error of the protocol before the prompt means that the program cannot work so.
func (r *run) fail(e *event, class providers.Failure) {
	r.over = true
	r.session.Done()
	switch {
	case e.code == authRequired:
		class = providers.FailAuth
	case e.code >= 400 && e.code < 600:
		r.session.FailWith(r.gauge.Failed(e.code, e.text))
		return
	case class == "":
		r.session.FailWith(r.gauge.Trouble(e.text))
		return
	}
	t := program.Trouble{Class: class, Words: e.text}
	r.session.FailWith(t.Error())
}

// asked puts a request of the program to the turn's Ask, or refuses what was not offered to it.
func (r *run) asked(e *event) {
	if e.method != askPermission {
		r.send(outgoing{ID: e.id, Error: &refusal{-32601, "not supported: do it yourself"}})
		return
	}
	c := r.calls[e.call.id]
	c.merge(e.call)
	if r.asking > 0 && c.id != "" {
		r.calls[e.call.id] = c
	}
	p := fill(e.ask, &c, r.turn.Dir)
	decide := func(d providers.Decision) { r.decide(e, &p, d) }
	switch {
	case r.asking == 0 || r.over:
		r.send(outgoing{ID: e.id, Result: cancelled()})
	case program.ReadsOnly(r.turn):
		decide(providers.Decision{Reason: "this turn only reads"})
	case len(e.ask.Request) > program.MaxRequest:
		decide(providers.Decision{Reason: "the request is too long to be shown to a person"})
	case choose(e.options, "allow_once") == "":
		decide(providers.Decision{Reason: "it cannot be allowed once"})
	default:
		id := string(e.id)
		forget := r.session.Ask(r.turn, p, func(d providers.Decision) {
			delete(r.asks, id)
			decide(d)
		})
		r.asks[id] = func() {
			forget()
			r.send(outgoing{ID: e.id, Result: cancelled()})
		}
	}
}

// decide answers a request, once.
func (r *run) decide(e *event, p *providers.Permission, d providers.Decision) {
	kind := "allow_once"
	if !d.Allow {
		kind = "reject_once"
		why := program.Short([]byte(p.Text()), shortText)
		if d.Reason != "" {
			why += ", since " + d.Reason
		}
		r.denied = append(r.denied, why)
		r.progress("was not allowed to " + program.Short([]byte(p.Text()), shortText))
		r.answer.Reset()
	}
	if id := choose(e.options, kind); id != "" {
		r.send(outgoing{ID: e.id, Result: outcome{chosen{Outcome: "selected", Option: id}}})
		return
	}
	r.send(outgoing{ID: e.id, Result: cancelled()})
}

// interrupt asks the program to end its turn.
func (r *run) interrupt() {
	if r.asking == 0 || r.over {
		r.session.Done()
		return
	}
	r.denied = nil
	r.send(outgoing{Method: "session/cancel", Params: map[string]string{"sessionId": r.name}})
	for _, refuse := range r.asks {
		refuse()
	}
}
