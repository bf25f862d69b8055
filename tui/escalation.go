package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
)

// The ids of the actions of a card, and the scopes that they are valid in.
const (
	cardScope    = "card"
	cardAccept   = "card.accept"
	cardReject   = "card.reject"
	cardOverride = "card.override"
	cardOwn      = "card.own_words"
	cardAway     = "card.put_away"
	cardTask     = "card.timeline"
	cardDiff     = "card.diff"
	stagePrefix  = "stage."
)

func escalationKind() pageKind {
	return pageKind{
		Kind: KindEscalation, Title: "Decision", Dense: true,
		Make:  func(e *env, at Place) page { return newCardPage(e, amp.TaskID(at.ID), at.Seq) },
		Deeds: cardDeeds,
	}
}

// carder is a page with a card: of its one item, or of the one under the cursor.
type carder interface{ card() (need, *amp.Task) }

// cardDeeds are the actions of every page with a card. The numbers are one scope each, so that a number that names
// nothing keeps its meaning.
func cardDeeds(e *env) []deed {
	one := func(id, key, title, short string, danger action.Danger, rank int, off func(n *need, t *amp.Task) string) deed {
		a := action.Action{ID: id, Scope: cardScope, Title: title, Short: short, Keys: []string{key}, Danger: danger, Rank: rank}
		a.Disabled = func() string {
			c, ok := e.nav.top().page.(carder)
			if !ok {
				return "not on this screen"
			}
			n, t := c.card()
			if t == nil {
				return "nothing is selected"
			}
			return off(&n, t)
		}
		return deed{Action: a}
	}
	always := func(*need, *amp.Task) string { return "" }
	out := []deed{
		one(cardAccept, "A", "accept, or allow once…", "accept…", action.Low, 10, e.acceptOff),
		one(cardReject, "R", "redispatch with guidance, or deny…", "redispatch…", action.Low, 11, e.rejectOff),
		one(cardOverride, "O", "override the held verdict…", "override…", action.Low, 12, func(n *need, t *amp.Task) string {
			p := proposal{Command: amp.Override, TaskID: t.ID}
			return p.off(e)
		}),
		one(cardOwn, "o", "own words: any command of this task", "own words", action.None, 14, always),
		one(cardTask, "T", "timeline of the task", "timeline", action.None, 16, always),
		one(cardDiff, "d", "what changed: of a task that was rejected the last round, else the branch", "diff", action.None, 17, diffOff),
		one(cardAway, "m", "put away: nothing more to do", "put away", action.None, 15, func(n *need, _ *amp.Task) string {
			if n.Kind != amp.NeedFailed {
				return "it needs a decision"
			}
			return ""
		}),
	}
	for i := 1; i <= 9; i++ {
		n := strconv.Itoa(i)
		rank := 0
		if i == 1 {
			rank = 13
		}
		out = append(out, deed{Action: action.Action{
			ID: stagePrefix + n, Scope: stagePrefix + n, Title: "stage way " + n + " of the card that is open or has the focus",
			Short: "stage", Keys: []string{n}, Rank: rank,
		}})
	}
	return out
}

// stageScopes are the scopes of the numbers.
var stageScopes = [...]string{
	stagePrefix + "1", stagePrefix + "2", stagePrefix + "3", stagePrefix + "4", stagePrefix + "5", stagePrefix + "6", stagePrefix + "7",
	stagePrefix + "8", stagePrefix + "9",
}

// cardScopes are the scopes of a page whose card has n numbered options.
func cardScopes(kind Kind, n int) []string {
	out := make([]string, 0, 2+len(stageScopes)+1)
	return append(append(out, string(kind), cardScope), stageScopes[:min(n, len(stageScopes))]...)
}

// stageKeys are the numbers among the scopes as the footer shows them: "1-4".
func stageKeys(scopes []string) string {
	n := 0
	for _, s := range scopes {
		if strings.HasPrefix(s, stagePrefix) {
			n++
		}
	}
	if n < 2 {
		return "1"
	}
	return "1-" + strconv.Itoa(n)
}

// findNeed is the item of the Inbox with this name; ok is false when it does not wait any more. What was put away still is found, and
// what is decided as long as that can be taken back.
func (e *env) findNeed(t *amp.Task, seq uint64) (need, bool) {
	if t == nil {
		return need{}, false
	}
	if f := e.Index.tasks[t.ID]; f != nil {
		for i := range f.needs {
			if n := &f.needs[i]; n.Seq == seq && n.Kind != amp.NeedPlan {
				return *n, true
			}
		}
	}
	for _, n := range t.Raised() {
		if n.Seq == seq && n.Kind != amp.NeedPlan {
			return newNeed(n), true
		}
	}
	return need{}, false
}

// options are the numbered ways out of a card, at most nine, in no order of preference.
func (e *env) options(n *need, t *amp.Task) []option {
	var out []option
	switch n.Kind {
	case amp.NeedEscalation:
		out = e.escalationOptions(n, t)
	case amp.NeedHeld:
		out = e.holdOptions(t)
	case amp.NeedQuestion:
		out = e.questionOptions(n, t)
	case amp.NeedFailed:
		out = e.failedOptions(n, t)
	case amp.NeedDelivery:
		out = e.deliveryOptions(t)
	case amp.NeedStopped:
		out = e.stoppedOptions(t)
	case amp.NeedPlan:
	}
	return out[:min(len(out), 9)]
}

// way makes an option of a proposal.
func (e *env) way(text string, p proposal) option {
	o := option{Text: text, prop: p, note: p.name(), off: p.off(e)}
	if o.off == "" && p.Command == amp.Rollback && e.Board.Task(p.TaskID).Checkpoint == 0 {
		o.off = "no checkpoint was set yet"
	}
	return o
}

// escalationOf is the state of the escalation that a need is about, nil when it is gone.
func escalationOf(n *need, t *amp.Task) *amp.EscalationState {
	i := slices.IndexFunc(t.Escalations, func(s amp.EscalationState) bool { return s.Seq == n.Seq })
	if i < 0 {
		return nil
	}
	return &t.Escalations[i]
}

// escalationOptions are the suggestions of the message. Only the coordinator's own table carries commands; the words of
// anybody else are quoted beside the list of commands (AMP-162).
func (e *env) escalationOptions(n *need, t *amp.Task) []option {
	s := escalationOf(n, t)
	if s == nil {
		return nil
	}
	var out []option
	known := map[string]bool{}
	args := amp.Args{Escalation: s.MsgID}
	own := s.From == amp.Coordinator || s.From == amp.System
	for _, text := range s.Suggested {
		if sg, ok := amp.SuggestionFor(s.Type, text); ok && own {
			known[text] = true
			out = append(out, e.way(text, proposal{Command: sg.Command, Next: sg.Next, TaskID: t.ID, Args: args}))
			continue
		}
		out = append(out, option{
			Text: text, agent: true, note: "their words: opens the commands",
			prop: proposal{TaskID: t.ID, Args: args, Quote: text},
		})
	}
	for _, sg := range amp.Suggestions(s.Type) {
		if !known[sg.Text] {
			out = append(out, e.way(sg.Text, proposal{Command: sg.Command, Next: sg.Next, TaskID: t.ID, Args: args}))
		}
	}
	return out
}

// stoppedOptions are the ways on from a task that stands still without a message.
func (e *env) stoppedOptions(t *amp.Task) []option {
	on := e.way("Resume with the same agent", proposal{Command: amp.Resume, TaskID: t.ID})
	if t.Status == amp.Locked {
		on = e.way("Give guidance and redispatch", proposal{Command: amp.Unlock, Next: amp.Redispatch, TaskID: t.ID})
	}
	return []option{on, e.way("Stop the task", proposal{Command: amp.Terminate, TaskID: t.ID})}
}

// failedOptions are the ways on from a decision that was not carried out: to take it again on the state of now, as it
// was, or to leave it.
func (e *env) failedOptions(n *need, t *amp.Task) []option {
	i := slices.IndexFunc(t.Failed, func(f amp.NotCarriedOut) bool { return f.Seq == n.Seq })
	if i < 0 {
		return nil
	}
	f := &t.Failed[i]
	p := proposal{Command: f.Command, TaskID: t.ID}
	if c, ok := e.desk.past(t.ID).facts(t).commands[f.CommandID]; ok {
		p.Next, p.Text = c.Args.Next, c.Note
		p.Args = amp.Args{
			Checkpoint: c.Args.Checkpoint, Executor: c.Args.Executor, Reviewer: c.Args.Reviewer, Merge: c.Args.Merge,
			Decision: c.Args.Decision,
		}
	}
	again := e.way("Decide it again on the state of now", p)
	if f.Command == amp.Approve || f.Command == amp.Reject {
		again.run, again.off = func() tea.Cmd { return e.Go(Place{Kind: KindPlan, ID: string(t.ID)}) }, ""
		again.note = "opens the plan"
	}
	seq := n.Seq
	return []option{again, {Text: "Leave it: put the card away", note: "on this screen", run: func() tea.Cmd {
		e.PutAway(seq)
		return nil
	}}}
}

// acceptOff says why A is off on a card.
func (e *env) acceptOff(n *need, t *amp.Task) string {
	switch n.Kind {
	case amp.NeedHeld:
		p := proposal{Command: amp.Accept, TaskID: t.ID}
		return p.off(e)
	case amp.NeedQuestion:
		if e.answering(n, t, allows) == nil {
			return "the question offers nothing to allow once"
		}
		return e.Off()
	case amp.NeedEscalation, amp.NeedFailed, amp.NeedPlan, amp.NeedDelivery, amp.NeedStopped:
	}
	return "stage one of the numbered ways, or o"
}

// rejectOff says why R is off on a card.
func (e *env) rejectOff(n *need, t *amp.Task) string {
	if n.Kind == amp.NeedQuestion {
		if e.answering(n, t, denies) == nil {
			return "the question offers nothing to deny"
		}
		return e.Off()
	}
	p := proposal{Command: amp.Redispatch, TaskID: t.ID}
	return p.off(e)
}

// cardIntent does what a key of a card means; it reports false for what is none of a card's.
func (e *env) cardIntent(id string, n *need, t *amp.Task) (tea.Cmd, bool) {
	if t == nil {
		return nil, false
	}
	if num, ok := cutPrefixNumber(id, stagePrefix); ok {
		all := e.options(n, t)
		if num > len(all) {
			return nil, true
		}
		return e.stageOption(t, all[num-1]), true
	}
	args := amp.Args{}
	if s := escalationOf(n, t); s != nil {
		args.Escalation = s.MsgID
	}
	switch id {
	case cardAccept:
		if n.Kind == amp.NeedQuestion {
			return e.decideOn(e.answering(n, t, allows)), true
		}
		return e.stage(proposal{Command: amp.Accept, TaskID: t.ID}), true
	case cardReject:
		if n.Kind == amp.NeedQuestion {
			return e.decideOn(e.answering(n, t, denies)), true
		}
		return e.stage(proposal{Command: amp.Redispatch, TaskID: t.ID, Args: args}), true
	case cardOverride:
		return e.stage(proposal{Command: amp.Override, TaskID: t.ID}), true
	case cardOwn:
		if own := e.ownAnswer(n, t); n.Kind == amp.NeedQuestion && own != nil {
			return e.decide(*own), true
		}
		return e.ownWords(t, proposal{Args: args}), true
	case cardTask:
		return e.Go(Place{Kind: KindTask, ID: string(t.ID), Seq: n.Seq}), true
	case cardDiff:
		return e.openDiff(t), true
	case cardAway:
		e.PutAway(n.Seq)
		return nil, true
	}
	return nil, false
}

func (e *env) decideOn(p *proposal) tea.Cmd {
	if p == nil {
		return nil
	}
	return e.decide(*p)
}

func cutPrefixNumber(s, prefix string) (int, bool) {
	if len(s) <= len(prefix) || s[:len(prefix)] != prefix {
		return 0, false
	}
	n, err := strconv.Atoi(s[len(prefix):])
	return n, err == nil && n > 0
}
