package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
)

// Webhook is a receiver over HTTP. Its address may be a secret, as Slack's is: it is named by Name in logs and errors.
type Webhook struct {
	Name string
	URL  func() (string, error)
	// Secret signs what is sent; nil does not sign.
	Secret func() (string, error)
	// Slack sends only a text, as Slack and what follows it want it.
	Slack bool
	// Transport carries the calls; nil is a transport of its own.
	Transport http.RoundTripper
}

// Signature is the value of the header Arbiter-Signature for a body sent at the time in the header Arbiter-Timestamp, which holds seconds:
// v1= and the HMAC-SHA256 of "timestamp.body" in hex.
func Signature(secret, timestamp string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(timestamp + "."))
	m.Write(body)
	return "v1=" + hex.EncodeToString(m.Sum(nil))
}

// parcel is one body for a receiver. Its id stays the same however often it is tried.
type parcel struct {
	ID    string          `json:"id"`
	Made  time.Time       `json:"made"`
	Body  json.RawMessage `json:"body"`
	Tries int             `json:"tries,omitzero"`
	Next  time.Time       `json:"next,omitzero"`
}

// The patience with a receiver: tries one to thirty minutes apart over a day, and how much waits for it meanwhile.
const (
	hookTime   = 20 * time.Second
	hookMin    = 10 * time.Second
	hookMax    = 30 * time.Minute
	hookGiveUp = 24 * time.Hour
	maxParcels = 1000
)

// notice is the body of a webhook.
type notice struct {
	ID       string     `json:"id"`
	Event    string     `json:"event"` // waiting, decided, news or test
	Kind     string     `json:"kind,omitzero"`
	TaskID   amp.TaskID `json:"task_id,omitzero"`
	Seq      uint64     `json:"seq,omitzero"`
	Critical bool       `json:"critical,omitzero"`
	At       time.Time  `json:"at"`
	Text     string     `json:"text"`
}

// hookers say which receivers are being called.
type hookers map[string]bool

// parcel makes one for each receiver of what became of an item.
func (d *desk) parcel(it *item, event string, at time.Time) {
	t := text{}
	t.head("%s", it.Short)
	if task := d.board.Task(it.TaskID); task != nil {
		t.quote("Task: ", task.Title, 200)
	}
	if it.Closed {
		t.quote("Done: ", it.Outcome, 300)
	}
	d.post(notice{Event: event, Kind: string(it.Kind), TaskID: it.TaskID, Seq: it.Seq, Critical: it.Critical, At: at}, &t)
}

// newsParcel makes one for each receiver of a line of news.
func (d *desk) newsParcel(l lineS, at time.Time) {
	n := note{Lines: []lineS{l}}
	t := n.text()
	d.post(notice{Event: "news", At: at}, &t)
}

func (d *desk) post(n notice, t *text) {
	for i := range d.cfg.Webhooks {
		w := &d.cfg.Webhooks[i]
		p := w.pack(n, t)
		all := append(d.state.Hooks[w.Name], p)
		if len(all) > maxParcels {
			d.bury(w, all[0], "too many wait")
			all = all[1:]
		}
		d.state.Hooks[w.Name], d.changed = all, true
	}
}

// pack is the body for a receiver.
func (w *Webhook) pack(n notice, t *text) *parcel {
	n.ID, n.At = uuid.Must(uuid.NewV7()).String(), n.At.UTC().Truncate(time.Millisecond)
	n.Text = t.plain()
	var body any = n
	if w.Slack {
		body = map[string]string{"text": t.slack()}
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain data
	}
	return &parcel{ID: n.ID, Made: n.At, Body: data}
}

// deliver calls each receiver that is due. It returns when to look again.
func (d *desk) deliver(now time.Time) time.Time {
	wake := now.Add(time.Hour)
	for i := range d.cfg.Webhooks {
		w := &d.cfg.Webhooks[i]
		all := d.state.Hooks[w.Name]
		if len(all) == 0 || d.hooks[w.Name] {
			continue
		}
		p := all[0]
		if now.Before(p.Next) {
			if p.Next.Before(wake) {
				wake = p.Next
			}
			continue
		}
		if d.hooks == nil {
			d.hooks = hookers{}
		}
		d.hooks[w.Name], d.changed = true, true
		id, body := p.ID, []byte(p.Body)
		d.wg.Go(func() {
			err := w.call(d.ctx, id, body, now)
			select {
			case d.sent <- func(now time.Time) { d.called(w, p, err, now) }:
			case <-d.ctx.Done():
			}
		})
	}
	return wake
}

// called takes what became of a call. The order of a receiver's parcels is kept: what comes later waits.
func (d *desk) called(w *Webhook, p *parcel, err error, now time.Time) {
	d.hooks[w.Name], d.changed = false, true
	d.cfg.Tally.came(w.channel(), err, now)
	all := d.state.Hooks[w.Name]
	gone := func() {
		if len(all) > 0 && all[0] == p { // it may have been buried meanwhile
			d.state.Hooks[w.Name] = all[1:]
		}
	}
	if err == nil {
		gone()
		return
	}
	var refused *refusedError
	p.Tries++
	p.Next = now.Add(min(hookMin<<min(p.Tries-1, 12), hookMax))
	switch {
	case errors.As(err, &refused) && refused.final():
		d.bury(w, p, err.Error())
		gone()
	case now.Sub(p.Made) > hookGiveUp:
		d.bury(w, p, err.Error())
		gone()
	default:
		d.cfg.Logger.Warn("a webhook is not reached; it is tried again", "webhook", w.Name, "tries", p.Tries, "again_at", p.Next, "err", err)
	}
}

// refusedError is an answer of a receiver that is no yes.
type refusedError struct{ code int }

func (e *refusedError) Error() string { return "it answered " + strconv.Itoa(e.code) }

// final reports whether trying again has no meaning.
func (e *refusedError) final() bool {
	return e.code >= 400 && e.code < 500 && e.code != http.StatusRequestTimeout && e.code != http.StatusTooManyRequests &&
		e.code != http.StatusUnauthorized && e.code != http.StatusForbidden && e.code != http.StatusNotFound
}

// call sends one body once. No error of it holds the address.
func (w *Webhook) call(ctx context.Context, id string, body []byte, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	to, err := w.URL()
	if err != nil {
		return err
	}
	if !SafeURL(to) {
		return errors.New("its address is no https address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address has a form that no request can have")
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Arbiter-Id", id)
	req.Header.Set("Arbiter-Timestamp", stamp)
	if w.Secret != nil {
		secret, err := w.Secret()
		if err != nil {
			return err
		}
		req.Header.Set("Arbiter-Signature", Signature(secret, stamp, body))
	}
	tr := w.Transport
	if tr == nil {
		tr = http.DefaultTransport
	}
	client := http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return &refusedError{res.StatusCode}
	}
	return nil
}

// DeadLetters is the file of a data directory that holds what no receiver took, one JSON object a line.
func DeadLetters(home string) string { return filepath.Join(home, "system", "notify-dead.jsonl") }

// bury keeps what a receiver does not take.
func (d *desk) bury(w *Webhook, p *parcel, reason string) {
	d.cfg.Logger.Error("a webhook does not take a notification; it is kept as a dead letter", "webhook", w.Name, "id", p.ID, "file", DeadLetters(d.cfg.Home), "why", reason)
	data, err := json.Marshal(struct {
		Webhook string          `json:"webhook"`
		ID      string          `json:"id"`
		Made    time.Time       `json:"made"`
		Tries   int             `json:"tries"`
		Why     string          `json:"why"`
		Body    json.RawMessage `json:"body"`
	}{w.Name, p.ID, p.Made, p.Tries, reason, p.Body})
	if err == nil {
		err = appendLine(DeadLetters(d.cfg.Home), data)
	}
	if err != nil {
		d.cfg.Logger.Error("a dead letter is not kept", "err", err)
	}
}

func appendLine(file string, line []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// TestWebhook sends one receiver a test, once.
func TestWebhook(ctx context.Context, w Webhook, now time.Time) error {
	t := text{}
	t.say("A test of Arbiter's notifications: nothing waits.")
	p := w.pack(notice{Event: "test", At: now}, &t)
	if err := w.call(ctx, p.ID, p.Body, now); err != nil {
		return fmt.Errorf("webhook %s: %w", w.Name, err)
	}
	return nil
}

// TestTelegram asks the bot for its name and, when asked to, sends a test to each chat. It returns the name, and an error for each chat that
// does not take it.
func TestTelegram(ctx context.Context, t *Telegram, send bool) (name string, err error) {
	b := newBot(t)
	if name, err = b.me(ctx); err != nil || !send {
		return name, err
	}
	msg := text{}
	msg.say("A test of Arbiter's notifications: nothing waits.")
	var errs []error
	for _, chat := range t.Chats {
		if _, err := b.send(ctx, chat, msg, nil, 0, false); err != nil {
			errs = append(errs, fmt.Errorf("chat %d: %w", chat, err))
		}
	}
	return name, errors.Join(errs...)
}
