package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"arbiter/providers"
)

// The causes of a context that ends a request.
var (
	errTotal  = errors.New("the turn's time is over")
	errSilent = errors.New("no answer came in time")
)

// takenAfter is how long a service must have had a request without complaining until the message counts as taken: a refusal comes at
// once, an answer in minutes.
const takenAfter = 10 * time.Second

// ask sends a conversation until it is answered, a failure is for good, or the turn's time is over.
func (r *run) ask(ctx context.Context, t *talk) (*reply, *providers.TurnError) {
	body := encode(r.agent.dialect.body(&r.agent.config, t))
	for try := 1; ; try++ {
		answer, bad := r.try(ctx, body)
		if bad == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, r.stopped(ctx)
		}
		tries := r.agent.config.Tries
		if bad.tries > 0 {
			tries = min(tries, bad.tries)
		}
		r.tooLarge = bad.tooLarge
		if try >= tries {
			if try > 1 {
				return nil, bad.err(" (tried %d times)", try)
			}
			return nil, bad.err("")
		}
		wait := bad.wait
		if wait == 0 {
			wait = backoff(try)
		}
		if left := time.Until(r.deadline); wait > r.agent.config.Patience || wait >= left {
			bad.wait = wait
			return nil, bad.err("; it asks for a pause of %s", wait.Round(time.Second))
		}
		r.progress("%s; waits %s, then try %d of %d", bad.text, wait.Round(time.Second/10), try+1, tries)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, r.stopped(ctx)
		}
	}
}

// backoff is a second, doubled with each try, give or take half of it, and at most a minute.
func backoff(try int) time.Duration {
	d := min(time.Second<<min(try-1, 6), time.Minute)
	return d/2 + rand.N(d) //nolint:gosec // no secret: it spreads the tries of several turns
}

// stopped says why the context ended.
func (r *run) stopped(ctx context.Context) *providers.TurnError {
	if errors.Is(context.Cause(ctx), errTotal) {
		return &providers.TurnError{Failure: providers.FailTotal, Text: fmt.Sprintf("it took longer than %s", r.limits.Total)}
	}
	return &providers.TurnError{Failure: providers.FailKilled, Text: fmt.Sprintf("it was stopped: %v", context.Cause(ctx))}
}

// arrived is what one exchange came to.
type arrived struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// try makes the request once.
func (r *run) try(ctx context.Context, body []byte) (*reply, *trouble) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.limits.Silence, errSilent)
	defer cancel()
	got := r.exchange(ctx, body)
	if got.err != nil {
		return nil, r.broken(ctx, got.err)
	}
	got.body = []byte(r.clean(string(got.body)))
	r.logf("← %d %s\n%s\n", got.status, got.header.Get("Retry-After"), got.body)
	if got.status != http.StatusOK {
		return nil, r.judge(got.status, got.header, got.body)
	}
	r.taken()
	answer, err := r.agent.dialect.read(got.body)
	if err != nil {
		return nil, &trouble{
			failure: providers.FailModel, text: r.agent.where + " answered with something that is not its protocol", tries: garbageTries, tail: r.tail(string(got.body)),
		}
	}
	answer.text = r.clean(answer.text)
	answer.usage.Model = r.clip(answer.usage.Model)
	r.usage = r.usage.Plus(answer.usage)
	if shortened(len(body), answer.usage.Input) {
		r.short = answer.usage.Input
	}
	if bad := r.accept(&answer); bad != nil {
		return &answer, bad
	}
	return &answer, nil
}

// exchange sends the request and reads the answer, and says meanwhile that the message was taken.
func (r *run) exchange(ctx context.Context, body []byte) arrived {
	c := &r.agent.config
	address := r.agent.dialect.path(c.URL, c.Model)
	wrote := make(chan struct{}, 1)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return arrived{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	r.agent.dialect.sign(req.Header, r.key)
	r.logf("→ POST %s\n%s\n", address, r.clean(string(body)))
	done := make(chan arrived, 1)
	go func() { done <- r.agent.roundTrip(req, r.limits.Output) }()
	var quiet <-chan time.Time
	for {
		select {
		case got := <-done:
			return got
		case <-wrote:
			quiet = time.After(takenAfter)
		case <-quiet:
			r.taken()
		}
	}
}

func (a *Agent) roundTrip(req *http.Request, most int64) arrived {
	resp, err := a.client.Do(req)
	if err != nil {
		return arrived{err: err}
	}
	defer resp.Body.Close()
	got := arrived{status: resp.StatusCode, header: resp.Header}
	got.body, got.err = io.ReadAll(io.LimitReader(resp.Body, most+1))
	if got.err == nil && int64(len(got.body)) > most {
		got.err = errTooMuch
	}
	return got
}

var errTooMuch = errors.New("the answer is too long")

// broken says what an exchange that did not come to its end means.
func (r *run) broken(ctx context.Context, err error) *trouble {
	host := r.agent.where
	if errors.Is(context.Cause(ctx), errSilent) {
		return &trouble{failure: providers.FailSilent, text: fmt.Sprintf("%s did not answer within %s", host, r.limits.Silence), tries: 2}
	}
	if errors.Is(err, errTooMuch) {
		return &trouble{failure: providers.FailOutput, text: fmt.Sprintf("%s answered with more than %d bytes", host, r.limits.Output), tries: 1}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
		return &trouble{failure: providers.FailConfig, text: fmt.Sprintf("%s cannot be trusted: %s", host, r.clip(err.Error())), tries: 1}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &trouble{failure: providers.FailTransport, text: host + " broke off its answer"}
	}
	return &trouble{failure: providers.FailTransport, text: fmt.Sprintf("%s cannot be reached: %s", host, r.clip(err.Error()))}
}

// client is one that follows nobody elsewhere: the key would go along.
func client(transport http.RoundTripper) *http.Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		transport = t
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// minSecret is the length from which on a key is looked for in what is written down: a shorter one is a placeholder.
const minSecret = 8

// clean takes the key out of a text, also as JSON and addresses write it.
func (r *run) clean(s string) string {
	if len(r.key) < minSecret {
		return s
	}
	for _, form := range []string{r.key, strings.ReplaceAll(r.key, "/", `\/`), url.QueryEscape(r.key)} {
		s = strings.ReplaceAll(s, form, "[key]")
	}
	return s
}
