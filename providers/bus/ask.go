package bus

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/program"
)

// An agent asks for a permission by a status_update with the status permission_requested, a permission_id and the permission, and is answered by
// one with the status permission_decided and the same id. These are no part of the specification of the bus. A decision is for that id in
// that turn, and holds once. What a coordinator that ended had not decided is not decided: a host asks again when it gets the request again.
// A host names its run of the agent in metadata.run of what it says while the agent works: with the first word of another run, what the one
// before asked is withdrawn.

// asking is what a run puts to the admin for its agent.
type asking struct {
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	// decided are decisions on their way to the agent, all the ids of what was asked in this run.
	decided chan decided
	all     map[string]bool
	// pleas ends those that wait, now is the run that is heard, and left are those that are over.
	pleas  map[string]context.CancelFunc
	now    hosted
	left   map[hosted]bool
	open   int
	since  time.Time
	waited time.Duration
}

// hosted is a run of an agent at its host, as far as it is told.
type hosted struct{ agent, run string }

type decided struct {
	id, to string
	fresh  bool
	gone   bool // nobody waits for it
	providers.Decision
}

// maxOpen is how many requests of one turn wait at once, beyond which the answer is no; maxAsks how many one turn may make.
const (
	maxOpen = 16
	maxAsks = 10_000
)

func newAsking(ctx context.Context) *asking {
	a := &asking{decided: make(chan decided), all: map[string]bool{}, pleas: map[string]context.CancelFunc{}, left: map[hosted]bool{}}
	a.ctx, a.stop = context.WithCancel(ctx)
	return a
}

// end ends what still waits, and waits for that.
func (a *asking) end() {
	a.stop()
	a.wg.Wait()
}

// follow notes whose word is heard, and reports whether it comes from a run that is over. What another run asked before is withdrawn.
func (a *asking) follow(agent, run string) (late bool) {
	if !goodName(run) {
		run = ""
	}
	next := hosted{agent, run}
	switch {
	case agent == a.now.agent && (run == "" || run == a.now.run):
		return false
	case a.left[next]:
		return true
	}
	if a.now.agent != "" && len(a.left) < maxAsks {
		a.left[a.now] = true
	}
	a.now = next
	a.withdraw()
	return false
}

// withdraw ends what waits: the run that asked is over.
func (a *asking) withdraw() {
	for _, stop := range a.pleas {
		stop()
	}
	clear(a.pleas)
}

// waiting is how long requests were open in all.
func (a *asking) waiting() time.Duration {
	if a.open > 0 {
		return a.waited + time.Since(a.since)
	}
	return a.waited
}

// permissionOf is the request for a permission that a status_update is; asked is false when it is none. A nil permission is one that says too
// little.
func permissionOf(m *Message) (id string, p *amp.Permission, asked bool) {
	body := bodyOf(m)
	if textOf(body["status"]) != "permission_requested" {
		return "", nil, false
	}
	p = new(amp.Permission)
	if json.Unmarshal(body["permission"], p) != nil || !slices.Contains(amp.PermissionTypes(), p.Type) ||
		p.Command == "" && len(p.Paths) == 0 && p.Request == "" {
		p = nil
	}
	return textOf(body["permission_id"]), p, true
}

// ask puts a request of the agent to the turn's Ask. One that was made before in this run is not asked again: its decision is on
// its way.
func (r *run) ask(from, id string, p *amp.Permission) {
	a := r.asking
	if !goodName(id) {
		r.emit(providers.Event{Type: providers.EventProgress, Text: "not understood: a request for a permission without a permission_id"})
		return
	}
	if a.all[id] {
		return
	}
	if len(a.all) >= maxAsks {
		r.emit(providers.Event{Type: providers.EventProgress, Text: "it asks for more permissions than a turn may"})
		return
	}
	a.all[id] = true
	no := func(why string) { r.decide(decided{id: id, to: from, Decision: providers.Decision{Reason: why}}) }
	switch {
	case p == nil:
		no("the request does not say what is to be allowed")
		return
	case r.turn.Ask == nil:
		no("nobody can be asked in this turn")
		return
	case a.open >= maxOpen:
		no("too many requests of this turn wait already")
		return
	}
	if a.open++; a.open == 1 {
		a.since = time.Now()
	}
	r.emit(providers.Event{Type: providers.EventProgress, Text: program.Text([]byte("asks: " + p.Text()))})
	here := r.localised(*p)
	ctx, stop := context.WithCancel(a.ctx)
	a.pleas[id] = stop
	a.wg.Go(func() {
		defer stop()
		d := r.turn.Ask(ctx, here)
		select {
		case a.decided <- decided{id: id, to: from, fresh: true, gone: ctx.Err() != nil, Decision: d}:
		case <-a.ctx.Done():
		}
	})
}

// decide tells the agent a decision. One that cannot be sent now is sent later.
func (r *run) decide(d decided) {
	a := r.asking
	if d.fresh {
		if a.open--; a.open == 0 {
			a.waited += time.Since(a.since)
		}
		delete(a.pleas, d.id)
	}
	if d.gone {
		return
	}
	err := r.say(d.to, "permission\x00"+d.id, map[string]any{
		"status": "permission_decided", "permission_id": d.id, "allow": d.Allow, "reason": clip(d.Reason, 4000),
	})
	if err == nil {
		return
	}
	r.bus.cfg.Logger.Warn("a decision was not sent; it is tried again", "agent", d.to, "err", err)
	a.wg.Go(func() {
		wait := time.NewTimer(retryBase)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-a.ctx.Done():
			return
		}
		select {
		case a.decided <- decided{id: d.id, to: d.to, Decision: d.Decision}:
		case <-a.ctx.Done():
		}
	})
}

// elsewhere begins the name of a file that is not in the worktree of an agent on another machine: no rule may take it for one here.
const elsewhere = "/elsewhere"

// localised is a request of an agent with a clone of its own as one in the turn's folder. Its files are named relative to its worktree; whatever
// is not below that is nowhere here.
func (r *run) localised(p amp.Permission) amp.Permission {
	if r.agent.config.Repository == nil {
		return p
	}
	place := func(f string) string {
		if filepath.IsLocal(f) {
			return filepath.Join(r.turn.Dir, f)
		}
		return path.Join(elsewhere, path.Clean("/"+f))
	}
	p.Paths = slices.Clone(p.Paths)
	for i, f := range p.Paths {
		p.Paths[i] = place(f)
	}
	if p.Dir != "" {
		p.Dir = place(p.Dir)
	}
	return p
}
