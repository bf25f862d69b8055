package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/renameio/v2"
)

// The times and bounds of deliveries.
const (
	deliverTime  = 30 * time.Second
	retryFirst   = time.Second
	retryMost    = 5 * time.Minute
	refusedTries = 3
	maxDead      = 10_000
	maxBatchSize = 512 << 10
	saveEvery    = 1000 // entries
)

// Outbox delivers events to webhooks: at least once, in order, each receiver by itself. How far each has come is a file; the events
// themselves are derived from the journal again, so that a receiver that is away for a day costs nothing and misses nothing. What a
// receiver refuses goes to its list of dead letters, and the others go on.
type Outbox struct {
	dir       string
	publisher *Publisher
	client    http.RoundTripper
	logger    *slog.Logger
	sinks     []*sink
	share     *Shared
}

// Shared joins the outboxes of several processes on one journal, of which one at a time delivers to each receiver.
type Shared struct {
	// Duty runs work until ctx ends, at one of them at a time for each name. The context of work ends when it is another one's turn.
	Duty func(ctx context.Context, name string, work func(ctx context.Context))
	// Note tells the others how far the one on duty came, and Noted what was told last, a zero Position for nothing.
	Note  func(ctx context.Context, name string, at Position) error
	Noted func(ctx context.Context, name string) (Position, error)
}

// noteEvery is how many entries the one on duty delivers before it tells the others how far it came.
const noteEvery = 250

// Share makes this outbox one of several. A receiver gets what was delivered since the last note once more, with the same ids, when another
// one takes over. It comes before Run.
func (o *Outbox) Share(s Shared) { o.share = &s }

// NewOutbox returns the outbox of a data directory. A receiver that is new begins at from, the journal's present end. A file that is not
// understood is an error, never replaced.
func NewOutbox(home string, p *Publisher, hooks []Webhook, client http.RoundTripper, from uint64, logger *slog.Logger) (*Outbox, error) {
	o := &Outbox{dir: filepath.Join(home, "events"), publisher: p, client: client, logger: logger}
	if len(hooks) == 0 {
		return o, nil
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the outbox: %w", err)
	}
	for _, h := range hooks {
		s := &sink{Webhook: h, state: SinkState{Name: h.Name, Types: h.Types, Position: Position{Seq: from}}}
		found, err := readFile(o.cursor(s), &s.state.Position)
		if err != nil {
			return nil, err
		}
		if _, err := readFile(o.letters(s), &s.dead); err != nil {
			return nil, err
		}
		if !found { // where it began is known from now on, whenever the first event comes
			if err := writeFile(o.cursor(s), s.state.Position); err != nil {
				return nil, err
			}
		}
		s.state.Dead, s.saved = len(s.dead), s.state.Seq
		o.sinks = append(o.sinks, s)
	}
	return o, nil
}

func (o *Outbox) cursor(s *sink) string { return filepath.Join(o.dir, s.Name+".cursor.json") }

func readFile(path string, v any) (found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the outbox: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("read the outbox: %s is damaged: %w", path, err)
	}
	return true, nil
}

func writeFile(path string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = renameio.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the outbox: %w", err)
	}
	return nil
}

// Run delivers until ctx ends. What goes wrong with one receiver is its state, and stops no other.
func (o *Outbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range o.sinks {
		run := func(ctx context.Context) {
			for wait := retryFirst; ; wait = min(2*wait, retryMost) {
				err := o.publisher.Subscribe(ctx, s.position(), s.Types, func(all []Delivery, seen Position) error { return o.take(ctx, s, all, seen) })
				if ctx.Err() != nil || err == nil {
					return
				}
				o.logger.Error("events are not delivered", "sink", s.Name, "seq", s.position().Seq, "err", err)
				if pause(ctx, wait) != nil {
					return
				}
			}
		}
		if o.share == nil {
			wg.Go(func() { run(ctx) })
		} else {
			wg.Go(func() { o.share.Duty(ctx, duty(s), func(ctx context.Context) { o.relieve(ctx, s); run(ctx) }) })
		}
	}
	wg.Wait()
}

// duty is the name under which one process at a time delivers to a receiver.
func duty(s *sink) string { return "events/" + s.Name }

// relieve goes on where the one that was on duty before said that it had come.
func (o *Outbox) relieve(ctx context.Context, s *sink) {
	at, err := o.share.Noted(ctx, duty(s))
	s.noted = max(at.Seq, s.position().Seq)
	if err == nil && at.Seq > s.position().Seq {
		err = o.advance(ctx, s, at, 0)
	}
	if err != nil && ctx.Err() == nil {
		o.logger.Warn("how far the one before came is not known; its events are delivered once more", "sink", s.Name, "err", err)
	}
}

// tell notes for the others how far this one came, now and then.
func (o *Outbox) tell(ctx context.Context, s *sink, at Position) {
	if o.share == nil || at.Seq < s.noted+noteEvery {
		return
	}
	s.noted = at.Seq
	if err := o.share.Note(ctx, duty(s), at); err != nil && ctx.Err() == nil {
		o.logger.Warn("how far this one came is not told", "sink", s.Name, "err", err)
	}
}

// take delivers the events of some entries, and notes how far that is.
func (o *Outbox) take(ctx context.Context, s *sink, all []Delivery, seen Position) error {
	for len(all) > 0 {
		n := s.fits(all)
		if err := o.deliver(ctx, s, all[:n]); err != nil {
			return err
		}
		if err := o.advance(ctx, s, all[n-1].At, n); err != nil {
			return err
		}
		all = all[n:]
	}
	s.mu.Lock()
	s.state.Position = seen
	due := seen.Seq >= s.saved+saveEvery // entries without events for it need no note each: they are looked through again
	s.mu.Unlock()
	if !due {
		return nil
	}
	return o.advance(ctx, s, seen, 0)
}

func (o *Outbox) advance(ctx context.Context, s *sink, to Position, delivered int) error {
	if err := writeFile(o.cursor(s), to); err != nil {
		return err
	}
	defer o.tell(ctx, s, to)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Position, s.saved = to, to.Seq
	s.state.Delivered += delivered
	s.state.Failing, s.state.Why, s.state.Next = time.Time{}, "", time.Time{}
	return nil
}

// deliver sends events until the receiver has them, or has refused them often enough. An error is that ctx ended.
func (o *Outbox) deliver(ctx context.Context, s *sink, all []Delivery) error {
	refused := 0
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		why, verdict, after := o.post(ctx, s, all)
		switch verdict {
		case taken:
			return nil
		case no:
			if refused++; refused < refusedTries {
				break
			}
			if len(all) > 1 { // which one it is shows when they come one by one
				for i := range all {
					if err := o.deliver(ctx, s, all[i:i+1]); err != nil {
						return err
					}
				}
				return nil
			}
			return o.bury(s, &all[0], why)
		case notNow:
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait = max(wait, after)
		s.fails(why, time.Now().Add(wait))
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(wait, retryMost)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer is what a receiver says to a request.
type answer int

const (
	taken answer = iota
	// notNow may be another answer later: it does not answer, is busy, or does not let us in.
	notNow
	// no is about these events.
	no
)

// post sends one request.
func (o *Outbox) post(ctx context.Context, s *sink, all []Delivery) (why string, _ answer, after time.Duration) {
	body, err := encode(all)
	if err != nil {
		return err.Error(), no, 0
	}
	ctx, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return "its address is no URL", notNow, 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "arbiter")
	req.Header.Set("Arbiter-Event-Id", all[0].ID)
	if len(s.Secret) > 0 {
		req.Header.Set(SignatureHeader, Sign(s.Secret, body, time.Now()))
	}
	res, err := o.client.RoundTrip(req)
	if err != nil {
		return clip(err.Error(), 300), notNow, 0
	}
	defer res.Body.Close()
	said, err := io.ReadAll(io.LimitReader(res.Body, 300))
	if err != nil {
		said = nil // its status is enough
	}
	why = fmt.Sprintf("%d %s", res.StatusCode, bytes.ToValidUTF8(bytes.TrimSpace(said), nil))
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return "", taken, 0
	case slices.Contains([]int{401, 403, 404, 405, 407, 408, 423, 425, 429}, code), code < 400, code >= 500:
		if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
			after = min(time.Duration(n)*time.Second, time.Hour)
		}
		return why, notNow, after
	}
	return why, no, 0
}

// encode is the body of a request: one event, or several as a batch (EVT-100).
func encode(all []Delivery) ([]byte, error) {
	if len(all) == 1 {
		return all[0].Encode()
	}
	messages := make([]any, len(all))
	for i := range all {
		data, err := all[i].Encode()
		if err != nil {
			return nil, err
		}
		messages[i] = jsontext.Value(data)
	}
	b := Event{
		ID: derivedID(all[0].ID, Batch, len(all)), Type: Batch, Source: "arbiter", Timestamp: all[len(all)-1].Timestamp, CorrelationID: all[0].CorrelationID,
		Data:     map[string]any{"batch_size": len(all), "messages": messages},
		Metadata: map[string]any{"schema_version": SchemaVersion, "producer": "arbiter"},
	}
	return b.Encode()
}
