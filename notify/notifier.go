package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"arbiter/amp"
)

// Mode is how much is told.
type Mode string

// The modes; each tells what those before it tell.
const (
	// Explicit tells what waits for a decision, and what became of it.
	Explicit Mode = "explicit"
	// Final also tells that a task ended.
	Final Mode = "final"
	// Verbose also tells each step of each task.
	Verbose Mode = "verbose"
)

// Session is the coordinator. It submits decisions, follows the journal without gaps until that ends, which is no error, and reads.
type Session interface {
	Submit(ctx context.Context, cmd amp.Command) (amp.Entry, error)
	Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error
	Query(ctx context.Context, q amp.Query) (amp.Page, error)
}

// Config is what a [Notifier] needs.
type Config struct {
	// Home is the data directory.
	Home    string
	Session Session
	// Mode is explicit when it is empty.
	Mode Mode
	// Quiet are hours in which only what is critical is told, in Zone; nil is the local one.
	Quiet Hours
	Zone  *time.Location
	// Telegram, Desktop and Webhooks are where it is told; nil and none are not.
	Telegram *Telegram
	Desktop  DesktopFunc
	Webhooks []Webhook
	// Tally, if not nil, counts what became of messages.
	Tally  *Tally
	Logger *slog.Logger
}

// Notifier tells people what waits, and takes their decisions.
type Notifier struct{ cfg Config }

// New makes a notifier. It starts nothing.
func New(cfg Config) *Notifier {
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Mode == "" {
		cfg.Mode = Explicit
	}
	return &Notifier{cfg}
}

// again is how long a trouble of this machine is left alone.
const again = 30 * time.Second

// Run tells and takes decisions until ctx or the journal ends. It ends nothing else: what fails is logged and tried again.
func (n *Notifier) Run(ctx context.Context) {
	for {
		err := n.run(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		n.cfg.Logger.Error("nobody is notified", "err", err, "again_in", again)
		if !wait(ctx, again) {
			return
		}
	}
}

// wait reports whether the time passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lastWords is how long a message that is on its way may take when the notifier ends.
const lastWords = 5 * time.Second

// finish waits for the answer to the message that is on its way: one whose answer is not known comes twice.
func (d *desk) finish() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	for d.sending && d.waiting == nil {
		select {
		case done := <-d.sent:
			done(time.Now())
		case <-timer.C:
			return
		}
		if err := d.save(time.Now()); err != nil {
			d.cfg.Logger.Error("the notifications end", "err", err)
			return
		}
	}
}

// run is one life of the notifier: one goroutine owns the state, others carry what crosses the network.
func (n *Notifier) run(until context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(until))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	d, err := openDesk(ctx, &n.cfg)
	if err != nil {
		return err
	}
	d.wg = &wg
	defer d.finish()
	batches, ended := make(chan []amp.Entry), make(chan error, 1)
	wg.Go(func() {
		ended <- n.cfg.Session.Follow(ctx, d.board.Head.Seq, func(entries []amp.Entry) error {
			select {
			case batches <- entries:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	if d.bot != nil {
		wg.Go(func() { d.poll(ctx, d.from(time.Now())) })
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wake, err := d.step(time.Now())
		if err != nil {
			return err
		}
		timer.Reset(max(0, time.Until(wake)))
		select {
		case <-until.Done():
			return nil
		case err := <-ended:
			return err // nil when the journal has ended
		case entries := <-batches:
			err = d.fold(entries)
		case in := <-d.inbox:
			d.take(in, time.Now())
		case got := <-d.decided:
			err = d.conclude(got, time.Now())
		case done := <-d.sent:
			done(time.Now())
		case <-timer.C:
		}
		if err != nil {
			return err
		}
	}
}
