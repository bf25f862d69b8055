package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

const (
	// batchEvery is the least time between two batches: one frame at 60 per second.
	batchEvery = 16 * time.Millisecond
	// fewEntries is how many entries are folded in one turn, so that a key never waits long behind them; while more are there, the
	// next turn follows after soonEvery, and takes a quarter of them, up to maxBatch: a screen that falls behind catches up.
	fewEntries = 96
	maxBatch   = 512
	soonEvery  = 3 * time.Millisecond
	// maxPending is how many entries may wait for the screen; beyond it the board is asked for anew.
	maxPending = 8192
	// recentEntries is how many of the newest entries are read at the start and kept.
	recentEntries = 64
	// maxBackoff is the longest wait between two attempts to reach the coordinator.
	maxBackoff = 10 * time.Second
	// lostAfter is how long the coordinator may be away before the screen says offline instead of retry.
	lostAfter = 10 * time.Second
	// answerWithin is how long a question may stay without an answer before it is asked anew: a connection may be lost without a word.
	// Each time it is doubled, up to maxAnswer: a large board over a slow line takes long.
	answerWithin = 30 * time.Second
	maxAnswer    = 10 * time.Minute
)

// connPhase is how the connection stands.
type connPhase uint8

const (
	connecting connPhase = iota
	live
	retrying
	offline
)

// connState is the connection to the coordinator as the pump sees it.
type connState struct {
	phase connPhase
	// since is when the phase of being away began, next when it is tried again, err why it is away.
	since, next time.Time
	err         error
}

// off says why nothing can be decided over this connection, "" when it can.
func (c connState) off(e *env) string {
	switch c.phase {
	case live:
		return ""
	case connecting:
		return "the coordinator has not answered yet"
	default:
		return "the coordinator is away since " + e.Clock(c.since)
	}
}

// The messages of the pump. gen is the synchronisation that they belong to.
type (
	// syncedMsg is the board to go on from.
	syncedMsg struct {
		gen    int
		board  *amp.Board
		recent []amp.Entry
		state  *amp.CoordinatorState
		why    string // why the board had to be asked for anew, "" at the start
	}
	// batchMsg are entries in order, without gaps.
	batchMsg struct {
		gen     int
		entries []amp.Entry
	}
	connMsg connState
)

var (
	errOverflow = errors.New("more entries came than the screen could take")
	errResync   = errors.New("the screen lost its place in the journal")
	errMute     = errors.New("the coordinator takes questions and does not answer")
	errAnew     = errors.New("the coordinator was started anew")
)

// pump carries entries from the session to the program: bounded, at most one batch per frame, and never so slow that
// the session waits for the screen. It begins with the board at the journal's head.
type pump struct {
	session Session
	now     func() time.Time
	out     chan tea.Msg
	again   chan string   // asks for a new board, with the reason
	nudge   chan struct{} // ends the wait for the next attempt
	// goes runs a goroutine of the pump; a panic in it must not leave the terminal broken.
	goes func(fn func())
	// state is what the coordinator said of itself when the board came; only run touches it.
	state *amp.CoordinatorState

	mu      sync.Mutex
	gen     int
	pending []amp.Entry
	wake    chan struct{} // holds one signal: there is something pending
}

func newPump(s Session, now func() time.Time) *pump {
	return &pump{
		session: s, now: now, out: make(chan tea.Msg), again: make(chan string, 1), wake: make(chan struct{}, 1),
		nudge: make(chan struct{}, 1), goes: func(fn func()) { fn() },
	}
}

// next returns the command that waits for the pump's next message. The program has one of them at a time.
func (p *pump) next(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case m := <-p.out:
			return m
		case <-ctx.Done():
			return nil
		}
	}
}

// resync asks for a new board; it never blocks.
func (p *pump) resync(why string) {
	select {
	case p.again <- why:
	default: // one is asked for already
	}
}

// retry tries to reach the coordinator now.
func (p *pump) retry() {
	select {
	case p.nudge <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (p *pump) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { p.goes(func() { p.flush(ctx) }) })
	var away time.Time
	why := ""
	for wait, within := time.Second, answerWithin; ctx.Err() == nil; {
		var head uint64
		err := p.ask(ctx, away, within, func(ctx context.Context) (err error) { head, err = p.sync(ctx, why); return err })
		for err == nil {
			wait, within, away, why = time.Second, answerWithin, time.Time{}, ""
			p.send(ctx, connMsg{phase: live})
			head, err = p.follow(ctx, head)
			if errors.Is(err, errResync) || errors.Is(err, errOverflow) || ctx.Err() != nil {
				break
			}
			if away.IsZero() {
				away = p.now()
			}
			if !p.pause(ctx, away, wait, err) {
				return
			}
			err = p.ask(ctx, away, within, func(ctx context.Context) error { return p.reach(ctx, head) })
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errAnew):
			continue
		case errors.Is(err, errMute):
			within = min(2*within, maxAnswer)
		case errors.Is(err, errResync), errors.Is(err, errOverflow):
			why = err.Error()
			continue
		}
		if away.IsZero() {
			away = p.now()
		}
		if !p.pause(ctx, away, wait, err) {
			return
		}
		wait = min(2*wait, maxBackoff)
	}
}

// pause says that the coordinator is away and waits before the next attempt; false when ctx ended.
func (p *pump) pause(ctx context.Context, away time.Time, wait time.Duration, err error) bool {
	now := p.now()
	c := connMsg{phase: retrying, since: away, next: now.Add(wait), err: err}
	if now.Sub(away) >= lostAfter {
		c.phase = offline
	}
	p.send(ctx, c)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.nudge:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask puts questions to the coordinator, which it may leave without an answer for so long. When that takes as long as being away may,
// the screen says so while it goes on waiting; before the first board it only waits.
func (p *pump) ask(ctx context.Context, away time.Time, within time.Duration, questions func(ctx context.Context) error) error {
	asking, stop := context.WithTimeoutCause(ctx, within, errMute)
	defer stop()
	if away.IsZero() {
		away = p.now()
	}
	silent := time.NewTimer(max(lostAfter-p.now().Sub(away), time.Second))
	defer silent.Stop()
	done := make(chan struct{})
	var wg sync.WaitGroup
	first := p.state == nil
	wg.Go(func() {
		select {
		case <-silent.C:
			if first {
				return
			}
			p.send(asking, connMsg{phase: offline, since: away, next: p.now(), err: errMute})
		case <-done:
		}
	})
	err := questions(asking)
	close(done)
	stop() // so that nothing is sent behind the answer
	wg.Wait()
	if err != nil && errors.Is(context.Cause(asking), errMute) {
		return errMute
	}
	return err
}

// reach asks whether the journal goes on from seq, with the coordinator that was there before.
func (p *pump) reach(ctx context.Context, seq uint64) error {
	page, err := p.session.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: seq, Limit: 1}})
	if err != nil {
		return err
	}
	if page.Head.Seq < seq {
		return fmt.Errorf("the journal ends at #%d, before #%d: %w", page.Head.Seq, seq, errResync)
	}
	status, err := p.session.Query(ctx, amp.Query{Kind: amp.QueryStatus})
	if err != nil {
		return err
	}
	if now, was := status.Status, p.state; now != nil && (was == nil || !now.Started.Equal(was.Started) || now.Version != was.Version) {
		return errAnew
	}
	return nil
}

// sync hands over the board and returns its head.
func (p *pump) sync(ctx context.Context, why string) (uint64, error) {
	page, err := p.session.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return 0, err
	}
	if page.Board == nil {
		return 0, errors.New("the coordinator answered without a board")
	}
	head := page.Board.Head.Seq
	recent, err := p.session.Query(ctx, amp.Query{
		Kind:   amp.QueryEntries,
		Filter: amp.Filter{Before: head + 1, Newest: true, Limit: recentEntries},
	})
	if err != nil {
		return 0, err
	}
	m := syncedMsg{board: page.Board, recent: recent.Entries, why: why}
	if status, err := p.session.Query(ctx, amp.Query{Kind: amp.QueryStatus}); err == nil {
		m.state = status.Status // without it the screen shows less
	}
	p.state = m.state
	p.mu.Lock()
	p.gen++
	p.pending = nil
	m.gen = p.gen
	p.mu.Unlock()
	select {
	case <-p.again: // what was asked for before is answered
	default:
	}
	p.send(ctx, m)
	return head, nil
}

// follow collects entries after seq until the session fails or a new board is needed, and returns the last seq.
func (p *pump) follow(ctx context.Context, seq uint64) (uint64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case why := <-p.again:
			cancel(fmt.Errorf("%w: %s", errResync, why))
		case <-done:
		case <-ctx.Done():
		}
	})
	err := p.session.Follow(ctx, seq, func(entries []amp.Entry) error {
		if len(entries) == 0 {
			return nil
		}
		if got := entries[0].Seq; got != seq+1 {
			return fmt.Errorf("%w: entry #%d came after #%d", errResync, got, seq)
		}
		seq = entries[len(entries)-1].Seq
		return p.add(entries)
	})
	close(done)
	wg.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errResync) {
		return seq, cause
	}
	if err == nil && ctx.Err() == nil {
		err = errors.New("the coordinator ended the stream of entries")
	}
	return seq, err
}

// add takes entries over; it does not wait for the screen.
func (p *pump) add(entries []amp.Entry) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending)+len(entries) > maxPending {
		p.pending = nil
		return errOverflow
	}
	p.pending = append(p.pending, entries...)
	p.signal()
	return nil
}

// signal wakes the flusher; the mutex is held.
func (p *pump) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// flush hands over what is pending, at most once per frame.
func (p *pump) flush(ctx context.Context) {
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		n := min(len(p.pending), max(fewEntries, min(len(p.pending)/4, maxBatch)))
		m := batchMsg{p.gen, p.pending[:n:n]}
		p.pending = p.pending[n:]
		wait := batchEvery
		if len(p.pending) > 0 {
			p.signal()
			wait = soonEvery
		} else {
			p.pending = nil
		}
		p.mu.Unlock()
		if len(m.entries) > 0 {
			p.send(ctx, m)
		}
		pace.Reset(wait)
	}
}

func (p *pump) send(ctx context.Context, m tea.Msg) {
	select {
	case p.out <- m:
	case <-ctx.Done():
	}
}
