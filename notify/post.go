package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// The pace of a chat, and how long a trouble is left alone: Telegram takes about one message a second in a chat, and 20 a minute in a group.
const (
	pacePrivate = time.Second
	paceGroup   = 3 * time.Second
	troubleMin  = time.Second
	troubleMax  = 5 * time.Minute
	chatTrouble = time.Hour
)

// write starts the next message that a chat is due, when none is on its way. It returns when to look again.
func (d *desk) write(now time.Time) time.Time {
	wake := now.Add(time.Hour)
	if d.sending {
		return wake
	}
	if now.Before(d.calm) {
		return d.calm
	}
	later := func(at time.Time) {
		if at.Before(wake) {
			wake = at
		}
	}
	free := func(chat int64) bool {
		if at := d.lanes[chat]; now.Before(at) {
			later(at)
			return false
		}
		return true
	}
	for _, p := range d.state.Prompts {
		if p.ID == 0 && now.Before(p.Expires) && free(p.Chat) {
			d.sendPrompt(p)
			return d.soon(now, wake)
		}
	}
	for i, n := range d.state.Notes { // answers first, the others in their order
		if !n.News && free(n.Chat) {
			d.sendNote(i)
			return wake
		}
	}
	for i, n := range d.state.Notes {
		if free(n.Chat) {
			d.sendNote(i)
			return wake
		}
	}
	for _, it := range d.inOrder() {
		if it.Quiet && d.state.Hushed != nil || it.Closed && len(it.Posts) == 0 {
			continue
		}
		for _, chat := range d.cfg.Telegram.Chats {
			p := it.post(chat)
			if p != nil && !it.Closed && !p.Dead && now.Before(p.Expires) {
				later(p.Expires)
			}
			if d.due(it, p, now) && free(chat) {
				d.sendPost(it, chat, now)
				return d.soon(now, wake)
			}
		}
	}
	return wake
}

// soon is when to look again: at once when what was due turned out to need no message.
func (d *desk) soon(now, wake time.Time) time.Time {
	if d.waiting == nil {
		return now
	}
	return wake
}

// inOrder are the items, the critical ones first.
func (d *desk) inOrder() []*item {
	out := make([]*item, 0, len(d.state.Items))
	for _, it := range d.state.Items {
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b *item) int {
		if a.Critical != b.Critical {
			return map[bool]int{true: -1, false: 1}[a.Critical]
		}
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func (it *item) post(chat int64) *post {
	if i := slices.IndexFunc(it.Posts, func(p *post) bool { return p.Chat == chat }); i >= 0 {
		return it.Posts[i]
	}
	return nil
}

// due reports whether a chat shows something else than it should.
func (d *desk) due(it *item, p *post, now time.Time) bool {
	switch {
	case p == nil:
		return !it.Closed
	case p.Dead:
		return false
	case it.Closed:
		return p.Shown != it.closedSum()
	}
	c := d.show(it)
	return c != nil && p.Shown != d.sum(it, c, p, now)
}

// sum names what a message is to say, with the buttons that it is to have.
func (d *desk) sum(it *item, c *card, p *post, now time.Time) string {
	t := d.board.Task(it.TaskID)
	h := sha256.New()
	fmt.Fprintln(h, c.pages[len(c.pages)-1].html(), p.Gen, len(c.pages))
	for i := range c.choices {
		data, err := json.Marshal(struct {
			C choice
			X amp.Expects
		}{c.choices[i], expects(t, c.choices[i].Command)})
		if err != nil {
			panic(err) // plain data
		}
		h.Write(data)
	}
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	if p.Shown != "" && !now.Before(p.Expires) && len(c.choices) > 0 {
		return "expired " + sum
	}
	return sum
}

// sendPost sends the next page of an item to a chat, or changes its last one.
func (d *desk) sendPost(it *item, chat int64, now time.Time) {
	p := it.post(chat)
	if p == nil {
		p = &post{Chat: chat}
		it.Posts = append(it.Posts, p)
	}
	if it.Closed {
		d.sendClosed(it, p)
		return
	}
	c := d.show(it)
	if n := len(p.IDs); n < len(c.pages)-1 {
		page := c.pages[n]
		d.send(chat, p.target(), func(ctx context.Context) (int64, error) { return d.bot.send(ctx, chat, page, nil, 0, false) }, func(id int64, _ time.Time) {
			p.IDs = append(p.IDs, id)
		})
		return
	}
	sum := d.sum(it, c, p, now)
	choices := c.choices
	if strings.HasPrefix(sum, "expired ") {
		choices = []choice{{Label: "Show again", Command: renew}}
	}
	if p.Next != sum { // else it is tried again, with the same buttons: it may have arrived
		d.bind(it, p, choices, now)
		p.Next = sum
	}
	keys := d.keys(p)
	page := c.pages[len(c.pages)-1]
	shown := func(id int64, _ time.Time) {
		if id != 0 {
			p.IDs = append(p.IDs, id)
		}
		p.Shown, p.Next = sum, ""
	}
	if len(p.IDs) < len(c.pages) {
		d.send(chat, p.target(), func(ctx context.Context) (int64, error) { return d.bot.send(ctx, chat, page, keys, 0, false) }, shown)
		return
	}
	id := p.IDs[len(p.IDs)-1]
	d.send(chat, p.target(), func(ctx context.Context) (int64, error) { return 0, d.bot.edit(ctx, chat, id, page, keys) }, shown)
}

// bind gives a message new buttons; those before are void.
func (d *desk) bind(it *item, p *post, choices []choice, now time.Time) {
	for _, nonce := range p.Nonces {
		if b := d.state.Buttons[nonce]; b != nil {
			b.Void = true
		}
	}
	p.Nonces, p.Expires = nil, now.Add(buttonTime)
	if len(choices) == 1 && choices[0].Command == renew {
		p.Expires = now // it stays expired until somebody wants to see it again
	}
	t := d.board.Task(it.TaskID)
	for _, c := range choices {
		nonce := newNonce()
		p.Nonces = append(p.Nonces, nonce)
		d.state.Buttons[nonce] = &button{Choice: c, Key: it.Key, TaskID: it.TaskID, Chat: p.Chat, Expects: expects(t, c.Command), Expires: now.Add(buttonTime)}
	}
}

func (d *desk) keys(p *post) []key {
	out := make([]key, 0, len(p.Nonces))
	for _, nonce := range p.Nonces {
		if b := d.state.Buttons[nonce]; b != nil {
			out = append(out, key{b.Choice.Label, nonce})
		}
	}
	return out
}

// sendClosed changes what an item's message says to what became of it. One that never got its last page says nothing.
func (d *desk) sendClosed(it *item, p *post) {
	for _, nonce := range p.Nonces {
		if b := d.state.Buttons[nonce]; b != nil {
			b.Void = true
		}
	}
	d.changed = true
	if len(p.IDs) == 0 {
		p.Shown = it.closedSum()
		return
	}
	t := text{}
	t.head("%s", it.Short)
	if task := d.board.Task(it.TaskID); task != nil {
		t.quote("Task: ", task.Title, 200)
	}
	t.quote("Done: ", it.Outcome, 300)
	ids, sum := append([]int64{p.IDs[len(p.IDs)-1]}, p.Twice...), it.closedSum()
	d.send(p.Chat, p.target(), func(ctx context.Context) (int64, error) {
		for _, id := range ids {
			if err := d.bot.edit(ctx, p.Chat, id, t, nil); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}, func(int64, time.Time) { p.Shown, p.Next = sum, "" })
}

func (d *desk) sendPrompt(p *prompt) {
	b := d.state.Buttons[p.Nonce]
	t := text{}
	if b == nil {
		p.Expires = time.Time{}
		return
	}
	if b.Choice.Ask == askDigits {
		t.say("%s %s: reply to this message with the last four digits of the %s.", b.TaskID, b.Choice.name(), b.Choice.Of)
	} else {
		t.say("%s %s: reply to this message with your reason or answer; it becomes part of the journal and guidance for the agents.", b.TaskID, b.Choice.name())
	}
	chat, reply := p.Chat, p.Reply
	d.send(chat, target{drop: func() { p.Expires = time.Time{} }}, func(ctx context.Context) (int64, error) { return d.bot.send(ctx, chat, t, nil, reply, true) },
		func(id int64, _ time.Time) { p.ID = id })
}

func (d *desk) sendNote(i int) {
	n := d.state.Notes[i]
	d.state.Notes = slices.Insert(slices.Delete(d.state.Notes, i, i+1), 0, n) // the one on its way is the first
	gone := func() { d.state.Notes = slices.DeleteFunc(d.state.Notes, func(o *note) bool { return o == n }) }
	all := n.text()
	t := all.pages()[0]
	chat, reply := n.Chat, n.Reply
	d.send(chat, target{drop: gone}, func(ctx context.Context) (int64, error) { return d.bot.send(ctx, chat, t, nil, reply, false) },
		func(int64, time.Time) { gone() })
}

// target is what is to be done when Telegram will never take a message, and when the message to be changed is gone.
type target struct {
	drop func()
	lost func()
}

func (p *post) target() target {
	return target{
		drop: func() { p.Dead = true },
		lost: func() { p.IDs, p.Shown, p.Next = nil, "", "" },
	}
}

// launch is what the last step wants sent, once the state is saved: buttons must be known before they can be pressed.
type launch struct {
	chat   int64
	to     target
	call   func(context.Context) (int64, error)
	finish func(id int64, now time.Time)
}

func (d *desk) send(chat int64, to target, call func(context.Context) (int64, error), finish func(int64, time.Time)) {
	d.sending, d.changed = true, true
	d.waiting = &launch{chat, to, call, finish}
}

// launch sends what the step wants sent.
func (d *desk) launch() {
	l := d.waiting
	if l == nil {
		return
	}
	d.waiting = nil
	d.wg.Go(func() {
		id, err := l.call(d.ctx)
		select {
		case d.sent <- func(now time.Time) { d.arrived(l, id, err, now) }:
		case <-d.ctx.Done():
		}
	})
}

// arrived takes what became of a message. What did not arrive is tried again as long as it has a meaning.
func (d *desk) arrived(l *launch, id int64, err error, now time.Time) {
	d.sending, d.changed = false, true
	d.cfg.Tally.came(telegramChannel, err, now)
	pace := pacePrivate
	if l.chat < 0 {
		pace = paceGroup
	}
	d.lanes[l.chat] = now.Add(pace)
	if err == nil {
		d.trouble = 0
		l.finish(id, now)
		return
	}
	e, ours := errors.AsType[*apiError](err)
	switch {
	case ours && e.Code == http.StatusTooManyRequests:
		after := max(e.After, time.Second)
		d.lanes[l.chat], d.calm = now.Add(after), now.Add(min(after, troubleMax))
		d.cfg.Logger.Warn("telegram wants to be left alone", "for", after)
	case ours && e.Code == http.StatusBadRequest && (strings.Contains(e.Text, "message to edit not found") || strings.Contains(e.Text, "can't be edited") || strings.Contains(e.Text, "MESSAGE_ID_INVALID")) && l.to.lost != nil:
		l.to.lost()
	case ours && e.Code == http.StatusForbidden, ours && e.Code == http.StatusBadRequest && strings.Contains(e.Text, "chat not found"):
		d.lanes[l.chat] = now.Add(chatTrouble)
		d.cfg.Logger.Error("a chat cannot be written to: it must begin a conversation with the bot, or have it as a member", "chat", l.chat, "err", err)
	case ours && e.Code == http.StatusBadRequest:
		d.cfg.Logger.Error("telegram refuses a message for good; it is to be seen at the screen only", "chat", l.chat, "err", err)
		l.to.drop()
	default:
		d.calm = now.Add(d.backoff())
		d.cfg.Logger.Warn("telegram is not reached; nothing is lost", "err", err, "again_at", d.calm)
	}
}

// backoff is how long to wait after one more trouble in a row.
func (d *desk) backoff() time.Duration {
	d.trouble = min(d.trouble+1, 20)
	return min(troubleMin<<(d.trouble-1), troubleMax)
}
