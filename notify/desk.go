package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"arbiter/amp"
)

// desk owns the state while a notifier runs. Only the goroutine of [Notifier.run] calls its methods, but for those of the poller.
type desk struct {
	cfg   *Config
	ctx   context.Context //nolint:containedctx // the life of the desk is that of one run
	wg    *sync.WaitGroup
	state *state
	board *amp.Board
	bot   *bot

	// dirty are tasks that entries came of since their items were looked at; changed says that the state is not saved as it is.
	dirty   map[amp.TaskID]bool
	fresh   bool
	changed bool
	saved   uint64

	inbox chan incoming
	// answers go out when what they answer is saved.
	answers []pendingAnswer
	decided chan verdict
	// sent carries what is to be done once something crossed the network.
	sent chan func(now time.Time)
	// sending says that a message is on its way; lanes say when each chat may be written to again.
	sending bool
	waiting *launch
	lanes   map[int64]time.Time
	// calm is when Telegram may be called again after a trouble, trouble how often in a row there was one.
	calm    time.Time
	trouble int
	hooks   hookers
	desktop desktop
}

func openDesk(ctx context.Context, cfg *Config) (*desk, error) {
	s, fresh, err := openState(cfg.Home)
	if err != nil {
		return nil, err
	}
	page, err := cfg.Session.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return nil, fmt.Errorf("read the board for the notifications: %w", err)
	}
	d := &desk{
		cfg: cfg, ctx: ctx, state: s, board: page.Board, fresh: fresh, dirty: map[amp.TaskID]bool{}, lanes: map[int64]time.Time{},
		inbox: make(chan incoming), decided: make(chan verdict), sent: make(chan func(time.Time)),
	}
	if s.Cursor > page.Board.Head.Seq { // another journal: what was said of the old one has no meaning
		cfg.Logger.Warn("the notifications knew of more entries than the journal has; what waits is told anew", "cursor", s.Cursor, "head", page.Board.Head.Seq)
		was := s
		d.state, d.fresh = newState(), true
		d.state.Offset, d.state.At, d.state.Hooks = was.Offset, was.At, was.Hooks
	}
	if cfg.Telegram != nil {
		d.bot = newBot(cfg.Telegram)
	}
	d.configured()
	for _, id := range d.board.Order {
		d.dirty[id] = true
	}
	for _, it := range d.state.Items { // of tasks that are gone from the board too
		d.dirty[it.TaskID] = true
	}
	return d, nil
}

// configured forgets what was meant for chats and receivers that are not configured any more.
func (d *desk) configured() {
	gone := func(chat int64) bool { return d.cfg.Telegram == nil || !slices.Contains(d.cfg.Telegram.Chats, chat) }
	for _, it := range d.state.Items {
		it.Posts = slices.DeleteFunc(it.Posts, func(p *post) bool { return gone(p.Chat) })
	}
	d.state.Notes = slices.DeleteFunc(d.state.Notes, func(n *note) bool { return gone(n.Chat) })
	d.state.Prompts = slices.DeleteFunc(d.state.Prompts, func(p *prompt) bool { return gone(p.Chat) })
	maps.DeleteFunc(d.state.Hooks, func(name string, _ []*parcel) bool {
		return !slices.ContainsFunc(d.cfg.Webhooks, func(w Webhook) bool { return w.Name == name })
	})
}

// fold takes entries of the journal.
func (d *desk) fold(entries []amp.Entry) error {
	for i := range entries {
		if entries[i].Seq <= d.board.Head.Seq {
			continue
		}
		if err := d.board.Apply(entries[i]); err != nil {
			return err
		}
		if id := entries[i].TaskID; id != "" {
			d.dirty[id] = true
		}
	}
	return nil
}

// saveEvery is after how many entries that change nothing the cursor is saved all the same.
const saveEvery = 1000

// step derives what follows from board and state, saves it, and starts what may be started. It returns when it is to be called again
// at the latest.
func (d *desk) step(now time.Time) (wake time.Time, err error) {
	wake = now.Add(time.Hour)
	d.settle(now)
	if at := d.hush(now); at.Before(wake) {
		wake = at
	}
	if d.bot != nil {
		if at := d.write(now); at.Before(wake) {
			wake = at
		}
	}
	if at := d.deliver(now); at.Before(wake) {
		wake = at
	}
	d.pop(now)
	d.state.Cursor = d.board.Head.Seq
	if err := d.save(now); err != nil {
		return wake, err
	}
	for _, p := range d.answers {
		p.in.reply <- p.a
	}
	d.answers = nil
	d.launch()
	d.count(now)
	return wake, nil
}

// save stores the state when something of it changed.
func (d *desk) save(now time.Time) error {
	if !d.changed && d.state.Cursor < d.saved+saveEvery {
		return nil
	}
	d.state.forget(now)
	if err := d.state.save(d.cfg.Home); err != nil {
		return fmt.Errorf("keep what was notified: %w", err)
	}
	d.changed, d.saved = false, d.state.Cursor
	return nil
}

// settle brings items and news in line with the board.
func (d *desk) settle(now time.Time) {
	for _, id := range sortedKeys(d.dirty) {
		d.settleTask(id, d.board.Task(id), now)
	}
	clear(d.dirty)
	d.fresh = false
}

func (d *desk) settleTask(id amp.TaskID, t *amp.Task, now time.Time) {
	open := map[string]bool{}
	for _, n := range needsOf(t) {
		key := n.key()
		open[key] = true
		it := d.state.Items[key]
		switch {
		case it == nil:
			it = &item{Key: key, Kind: n.Kind, TaskID: id, Seq: n.Seq, ID: n.Ref, Critical: n.Severity == amp.Critical, At: n.At, Short: fmt.Sprintf("%s: %s", id, headline(&n, t))}
			d.state.Items[key] = it
			d.raised(it, now)
		case it.Closed: // a decision was taken back
			it.Closed, it.Outcome, it.Ended = false, "", time.Time{}
			d.changed = true
		}
		d.stat(it, t)
		it.card = nil
	}
	var over []*item
	for key, it := range d.state.Items {
		if it.TaskID == id && !open[key] && !it.Closed {
			over = append(over, it)
		}
	}
	slices.SortFunc(over, func(a, b *item) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Key, b.Key)) })
	for _, it := range over {
		it.Closed, it.Ended, it.card = true, now, nil
		it.Outcome = d.outcome(it, t)
		d.changed = true
		d.closed(it, now)
	}
	if t != nil {
		d.news(t, now)
	}
}

// stat reads what changed in the branch once for each commit.
func (d *desk) stat(it *item, t *amp.Task) {
	if t.Commit == "" || it.Commit == t.Commit || it.Kind == amp.NeedPlan {
		return
	}
	it.Commit, it.Stat = t.Commit, nil
	d.changed = true
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	page, err := d.cfg.Session.Query(ctx, amp.Query{Kind: amp.QueryDiff, TaskID: t.ID})
	if err != nil || page.Diff == nil {
		d.cfg.Logger.Warn("a notification goes without what changed", "task", t.ID, "err", err)
		return
	}
	for _, f := range page.Diff.Files {
		if len(it.Stat) == 500 { // of the state's size; the card names ten
			break
		}
		path, _ := clean(f.Path, 200)
		it.Stat = append(it.Stat, statLine{path, f.Added, f.Removed})
	}
}

// need is the present need of an open item, nil when there is none.
func (d *desk) need(it *item) (*need, *amp.Task) {
	t := d.board.Task(it.TaskID)
	for _, n := range needsOf(t) {
		if n.Kind == it.Kind && n.Seq == it.Seq {
			return &n, t
		}
	}
	return nil, t
}

// show is the card of an open item.
func (d *desk) show(it *item) *card {
	if it.card == nil {
		n, t := d.need(it)
		if n == nil {
			return nil
		}
		c := cardOf(n, t, it.Stat, d.cfg.Telegram != nil && d.cfg.Telegram.Remote, d.cfg.Zone)
		it.card = &c
	}
	return it.card
}

// outcome says in words of ours and names of the configuration or the system what became of an item.
func (d *desk) outcome(it *item, t *amp.Task) string {
	if t != nil && it.Kind == amp.NeedPlan && t.Status == amp.AwaitingApproval && t.Plan != nil && t.PlanSeq != it.Seq {
		return fmt.Sprintf("replaced by r%d", t.Plan.Revision)
	}
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	page, err := d.cfg.Session.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{
		TaskID: it.TaskID, Kinds: []amp.Kind{amp.KindCommand, amp.KindQuestion}, After: it.Seq, Newest: true, Limit: 50,
	}})
	if err != nil {
		d.cfg.Logger.Warn("it is not known who decided", "task", it.TaskID, "err", err)
	}
	for i := range page.Entries {
		if said := d.decision(it, &page.Entries[i]); said != "" {
			return said
		}
	}
	if t != nil {
		return "no longer waits: the task is " + string(t.Status)
	}
	return "no longer waits"
}

// decision says how an entry ended an item, "" when it did not.
func (d *desk) decision(it *item, e *amp.Entry) string {
	if e.Kind == amp.KindQuestion {
		if q, err := amp.DecodeBody[amp.Question](e); err == nil && it.Kind == amp.NeedQuestion && q.QuestionID == it.ID && q.Answer != nil {
			return map[bool]string{true: "allowed", false: "denied"}[q.Answer.Allow] + " by " + q.Answer.By
		}
		return ""
	}
	c, err := amp.DecodeBody[amp.Command](e)
	if err != nil || !it.endedBy(&c) {
		return ""
	}
	by, _ := clean(c.By, 60)
	ch := choice{Command: c.Command, Args: amp.Args{Next: c.Args.Next}}
	if slices.Contains([]string{amp.OptionAllow, amp.OptionDeny}, c.Args.Option) {
		ch.Args.Option = c.Args.Option
	}
	return fmt.Sprintf("decided by %s %s at %s: %s (entry %d)", by, d.where(it, c.ID), clock(e.At, d.cfg.Zone), ch.name(), e.Seq)
}

// endedBy reports whether a command can be what ended the item.
func (it *item) endedBy(c *amp.Command) bool {
	switch c.Command {
	case amp.NoteCommand, amp.Withdraw, amp.Submit, amp.StopAll, amp.Thaw:
		return false
	case amp.Answer:
		return it.Kind == amp.NeedQuestion && c.Args.Question == it.ID
	case amp.Approve, amp.Reject, amp.Revise:
		return it.Kind == amp.NeedPlan
	case amp.Deliver:
		return it.Kind == amp.NeedDelivery
	}
	return it.Kind != amp.NeedPlan || c.Command == amp.Terminate
}

// where says whether a decision came from a chat.
func (d *desk) where(it *item, id string) string {
	for nonce, b := range d.state.Buttons {
		if b.Key == it.Key && commandID(nonce) == id {
			return "in Telegram"
		}
	}
	return "elsewhere"
}

// news tells that the status of a task changed, as the mode wants it.
func (d *desk) news(t *amp.Task, now time.Time) {
	was, known := d.state.Status[t.ID]
	if t.Status.Ended() {
		delete(d.state.Status, t.ID)
	} else {
		d.state.Status[t.ID] = t.Status
	}
	if was == t.Status || d.fresh || !known && t.Status.Ended() {
		return
	}
	d.changed = true
	switch {
	case d.cfg.Mode == Verbose && known:
		d.tell(now, lineS{fmt.Sprintf("%s is %s, was %s: ", t.ID, t.Status, was), t.Title})
	case d.cfg.Mode == Verbose, d.cfg.Mode == Final && t.Status.Ended():
		d.tell(now, lineS{fmt.Sprintf("%s is %s: ", t.ID, t.Status), t.Title})
	}
}
