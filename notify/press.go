package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// verdict is the coordinator's answer to a decision.
type verdict struct {
	in     incoming
	nonce  string
	press  press
	prompt *prompt
	entry  amp.Entry
	err    error
}

// press is who decides where.
type press struct {
	chat, user, message int64
	by                  string
	callback            string
}

// take takes one update. Who is not configured gets no answer of any kind.
func (d *desk) take(in incoming, now time.Time) {
	u := &in.update
	p := press{}
	switch {
	case u.Callback != nil && u.Callback.Message != nil:
		p.chat, p.user, p.message, p.callback = u.Callback.Message.Chat.ID, u.Callback.From.ID, u.Callback.Message.ID, u.Callback.ID
	case u.Message != nil && u.Message.From != nil:
		p.chat, p.user, p.message = u.Message.Chat.ID, u.Message.From.ID, u.Message.ID
	case u.Message != nil:
		p.chat = u.Message.Chat.ID
	}
	p.by = d.cfg.Telegram.People[p.user]
	if p.by == "" || !slices.Contains(d.cfg.Telegram.Chats, p.chat) {
		if d.state.Strangers++; d.state.Strangers&(d.state.Strangers-1) == 0 { // who writes on and on fills no log
			d.cfg.Logger.Warn("somebody who is not configured wrote to the bot and got no answer", "chat", p.chat, "user", p.user, "count", d.state.Strangers)
		}
		d.done(in, answer{}, now)
		return
	}
	if u.Callback != nil {
		d.pressed(in, &p, u.Callback.Data, now)
		return
	}
	d.replied(in, &p, u.Message, now)
}

// done ends an update: from here on it is not taken again. The answer goes out once that is saved.
func (d *desk) done(in incoming, a answer, now time.Time) {
	d.state.Offset, d.state.At, d.changed = in.update.ID+1, now, true
	d.answers = append(d.answers, pendingAnswer{in, a})
}

// pendingAnswer is an answer that waits until the state is saved.
type pendingAnswer struct {
	in incoming
	a  answer
}

// pressed judges a button. What it offers is decided on the state that was shown, never on the present one.
func (d *desk) pressed(in incoming, p *press, nonce string, now time.Time) {
	say := func(format string, args ...any) {
		d.done(in, answer{callback: p.callback, words: fmt.Sprintf(format, args...)}, now)
	}
	b := d.state.Buttons[nonce]
	if b == nil || b.Chat != p.chat {
		say("This button is not known any more. Nothing was decided.")
		return
	}
	it := d.state.Items[b.Key]
	d.met(it, p)
	switch {
	case b.Used != "":
		say("This button is spent: %s", b.Used)
		return
	case b.Choice.Command == renew:
		b.Used = "it was shown again"
		if post := it.post(p.chat); post != nil && !b.Void {
			post.Gen++
			post.Expires = now.Add(buttonTime)
		}
		say("")
		return
	case !now.Before(b.Expires):
		say("This button has expired. Nothing was decided; press Show again.")
		return
	}
	if stale := d.stale(b, it); stale != "" {
		say("%s", d.spend(b, nonce, stale))
		return
	}
	if b.Choice.Ask == askNothing {
		d.submit(in, nonce, b, *p, nil, amp.Args{}, "")
		return
	}
	if !slices.ContainsFunc(d.state.Prompts, func(q *prompt) bool { return q.Nonce == nonce && q.User == p.user && now.Before(q.Expires) }) {
		d.state.Prompts = append(d.state.Prompts, &prompt{Nonce: nonce, Chat: p.chat, User: p.user, Reply: p.message, Expires: now.Add(promptTime)})
		d.state.Prompts = d.state.Prompts[max(0, len(d.state.Prompts)-maxPrompts):]
	}
	say("")
}

// spend ends a button whose state is gone, and says why: because of its own decision, when that was stored and the press came again.
func (d *desk) spend(b *button, nonce, stale string) string {
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	page, err := d.cfg.Session.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{ID: commandID(nonce), Limit: 1}})
	if err == nil && len(page.Entries) > 0 {
		by, _ := clean(page.Entries[0].Actor, 60)
		b.Used = fmt.Sprintf("%s by %s is entry %d", b.Choice.name(), by, page.Entries[0].Seq)
		return b.Used
	}
	b.Used = "refused, " + stale
	return "Refused, nothing was decided: " + stale
}

// met notes a message of an item that is not known: its answer was lost on the way.
func (d *desk) met(it *item, p *press) {
	post := it.post(p.chat)
	if post == nil || p.message == 0 || slices.Contains(post.IDs, p.message) || slices.Contains(post.Twice, p.message) {
		return
	}
	post.Twice = append(post.Twice[:min(len(post.Twice), 9)], p.message)
	d.changed = true
}

// stale says what changed since a button was shown, "" when nothing did.
func (d *desk) stale(b *button, it *item) string {
	t := d.board.Task(b.TaskID)
	switch {
	case it.Closed:
		return it.Outcome
	case t == nil:
		return "the task is gone"
	}
	x := expects(t, b.Choice.Command)
	switch {
	case x == b.Expects && !b.Void:
		return ""
	case x.Status != b.Expects.Status:
		return fmt.Sprintf("the task is %s since %s, it was %s", t.Status, clock(t.Since, d.cfg.Zone), b.Expects.Status)
	case x.Hash != b.Expects.Hash:
		return fmt.Sprintf("the content is %s now, it was %s", short(x.Hash), short(b.Expects.Hash))
	case x.Revision != b.Expects.Revision:
		return fmt.Sprintf("decided on revision %d, the task is at %d since %s", b.Expects.Revision, x.Revision, clock(t.Since, d.cfg.Zone))
	}
	return "the message has other buttons now"
}

func short(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash[:min(8, len(hash))]
}

// maxReply is how much of a reply is taken as a reason or an answer.
const maxReply = 4000

// replied takes an answer to a prompt. Anything else that is written is no business of the bot's.
func (d *desk) replied(in incoming, p *press, m *message, now time.Time) {
	i := -1
	if m.ReplyTo != nil {
		i = slices.IndexFunc(d.state.Prompts, func(q *prompt) bool {
			return q.ID == m.ReplyTo.ID && q.Chat == p.chat && q.User == p.user && q.ID != 0
		})
	}
	if i < 0 {
		asking := func(q *prompt) bool {
			return q.ID == 0 && q.Chat == p.chat && q.User == p.user && now.Before(q.Expires)
		}
		if m.ReplyTo != nil && !in.last && slices.ContainsFunc(d.state.Prompts, asking) { // it may answer a question whose number is not known yet
			in.reply <- answer{again: true}
			return
		}
		d.done(in, answer{}, now)
		return
	}
	q := d.state.Prompts[i]
	b := d.state.Buttons[q.Nonce]
	say := func(format string, args ...any) {
		d.note(p.chat, m.ID, fmt.Sprintf(format, args...))
		d.done(in, answer{}, now)
	}
	switch {
	case b == nil || !now.Before(q.Expires) || !now.Before(b.Expires):
		d.drop(q)
		say("That took too long; nothing was decided. Press the button again.")
		return
	case b.Used != "":
		d.drop(q)
		say("Nothing was decided, the button is spent: %s", b.Used)
		return
	}
	it := d.state.Items[b.Key]
	if stale := d.stale(b, it); stale != "" {
		d.drop(q)
		say("%s", d.spend(b, q.Nonce, stale))
		return
	}
	words := strings.TrimSpace(m.Text)
	switch {
	case words == "" || len(words) > maxReply:
		say("That is no text of at most %d characters; reply to the question again.", maxReply)
	case b.Choice.Ask == askDigits && strings.ToLower(words) != b.Choice.Digits:
		if q.Tries++; q.Tries >= promptTries {
			d.drop(q)
			b.Used = "the digits were wrong"
			d.renewed(it, b)
			say("Those are not the last four digits either; nothing was decided, and that button is spent.")
			return
		}
		say("Those are not the last four digits of the %s; nothing was decided. Reply to the question again.", b.Choice.Of)
	case b.Choice.Ask == askDigits:
		d.submit(in, q.Nonce, b, *p, q, amp.Args{Digits: strings.ToLower(words)}, "")
	default:
		d.submit(in, q.Nonce, b, *p, q, amp.Args{}, words)
	}
}

func (d *desk) drop(q *prompt) {
	d.state.Prompts = slices.DeleteFunc(d.state.Prompts, func(o *prompt) bool { return o == q })
	d.changed = true
}

// note answers a message in a chat; what it says may hold words of others.
func (d *desk) note(chat, reply int64, words string) {
	mine := 0
	for _, n := range d.state.Notes {
		if n.Chat == chat {
			mine++
		}
	}
	if mine >= maxNotes { // an outage in which somebody writes on and on
		i := slices.IndexFunc(d.state.Notes, func(n *note) bool { return n.Chat == chat && !(d.sending && n == d.state.Notes[0]) })
		d.state.Notes = slices.Delete(d.state.Notes, i, i+1)
	}
	d.state.Notes = append(d.state.Notes, &note{Chat: chat, Reply: reply, Lines: []lineS{{"", words}}})
	d.changed = true
}

// renewed has an open item offer other buttons.
func (d *desk) renewed(it *item, b *button) {
	if p := it.post(b.Chat); p != nil {
		p.Gen++
	}
}

// submit hands a decision to the coordinator. Its id belongs to the button, so that it stays one decision whatever is lost and repeated.
func (d *desk) submit(in incoming, nonce string, b *button, p press, q *prompt, args amp.Args, words string) {
	c := amp.Command{ID: commandID(nonce), Command: b.Choice.Command, By: p.by, TaskID: b.TaskID, Args: b.Choice.Args, Note: words}
	c.Args.Digits = args.Digits
	c.Args.Undo = slices.Contains(undoable, c.Command)
	x := b.Expects
	c.Expects = &x
	if c.Command == amp.Withdraw {
		c.Expects = nil // what waits is named by its id; the task may move meanwhile
	}
	d.wg.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, time.Minute)
		defer cancel()
		e, err := d.cfg.Session.Submit(ctx, c)
		select {
		case d.decided <- verdict{in, nonce, p, q, e, err}:
		case <-d.ctx.Done():
		}
	})
}

// conclude takes the coordinator's answer to a decision.
func (d *desk) conclude(v verdict, now time.Time) error {
	b := d.state.Buttons[v.nonce]
	it := d.state.Items[b.Key]
	words := ""
	if v.err == nil {
		b.Used = fmt.Sprintf("%s by %s is entry %d", b.Choice.name(), v.press.by, v.entry.Seq)
		words = b.Used
		if c, err := amp.DecodeBody[amp.Command](&v.entry); err == nil && c.Args.EffectiveAt != nil {
			words += ", it runs at " + clock(*c.Args.EffectiveAt, d.cfg.Zone)
		}
	} else if _, refused := errors.AsType[*amp.RefusedError](v.err); refused {
		said, _ := clean(why(v.err), 300)
		b.Used = "refused, " + said
		words = "Refused, nothing was decided: " + said
		d.renewed(it, b)
	} else if v.in.last {
		said, _ := clean(v.err.Error(), 200)
		words = "Nothing was decided, the coordinator failed: " + said
	} else {
		d.cfg.Logger.Error("a decision from telegram is not stored yet", "task", b.TaskID, "command", b.Choice.Command, "err", v.err)
		v.in.reply <- answer{again: true}
		return nil
	}
	if v.prompt != nil {
		if b.Used != "" {
			d.drop(v.prompt)
		}
		d.note(v.press.chat, v.press.message, words)
	}
	d.done(v.in, answer{callback: v.press.callback, words: words}, now)
	return nil
}
