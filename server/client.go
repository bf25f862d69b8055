package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
)

// Client is a coordinator reached through its socket. It is safe for concurrent use and holds no connection that it does not
// need; there is nothing to close.
type Client struct {
	// Patience is how long Follow keeps trying to reach a coordinator that went away, counted anew after each entry; 0 means 15 s,
	// and a negative one that Follow returns as soon as the stream breaks, for a caller who shows that and tries again itself.
	Patience  time.Duration
	home      string
	known     Sentinels
	transport *http.Transport
}

var _ Coordinator = (*Client)(nil)

// NewClient returns a client of the coordinator of the data directory home. It does not connect: each request finds the socket
// anew, so a client survives a restart of the coordinator.
func NewClient(home string, known Sentinels) *Client {
	c := &Client{home: home, known: known}
	c.transport = &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, home) },
		MaxIdleConns:    4,
		IdleConnTimeout: 30 * time.Second,
	}
	return c
}

// dialError is a connection that was never made: nothing was asked.
type dialError struct{ err error }

func (e *dialError) Error() string { return "reach the coordinator: " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func dial(ctx context.Context, home string) (net.Conn, error) {
	path, err := SocketPath(home)
	if err != nil {
		return nil, &dialError{err}
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, &dialError{err}
	}
	return c, nil
}

// Submit sends a decision and returns its entry, or the typed error of the coordinator. After [ErrBroken] it is
// unknown whether the decision was stored: submit it again with the same ID.
func (c *Client) Submit(ctx context.Context, cmd amp.Command) (amp.Entry, error) {
	var e amp.Entry
	err := c.post(ctx, "/v1/commands", cmd, &e)
	return e, err
}

// Receive hands in a message or an ACK.
func (c *Client) Receive(ctx context.Context, r amp.Received) (amp.Receipt, error) {
	q := url.Values{"as": {string(r.As)}, "actor": {r.Actor}, "source": {r.Source}, "strict": {strconv.FormatBool(r.Strict)}}
	var got amp.Receipt
	err := c.do(ctx, http.MethodPost, "/v1/messages?"+q.Encode(), r.Raw, &got)
	return got, err
}

// Query asks one question. Reading changes nothing, so it is asked once more when the connection breaks.
func (c *Client) Query(ctx context.Context, q amp.Query) (p amp.Page, err error) {
	if err = c.post(ctx, "/v1/query", q, &p); errors.Is(err, ErrBroken) && ctx.Err() == nil {
		p = amp.Page{}
		err = c.post(ctx, "/v1/query", q, &p)
	}
	return p, err
}

// Status is what the coordinator says of itself; [ErrNotRunning] when none answers.
func (c *Client) Status(ctx context.Context) (s amp.CoordinatorState, err error) {
	if err = c.do(ctx, http.MethodGet, "/v1/status", nil, &s); errors.Is(err, ErrBroken) && ctx.Err() == nil {
		s = amp.CoordinatorState{}
		err = c.do(ctx, http.MethodGet, "/v1/status", nil, &s)
	}
	return s, err
}

// Shutdown asks the coordinator to end and returns when it agreed, not when it is gone.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/shutdown", nil, nil)
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, data, out)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	res, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := &answerBody{r: res.Body}
	if out == nil {
		_, err = io.Copy(io.Discard, answer)
	} else {
		err = json.UnmarshalRead(answer, out) // piece by piece: a board of many tasks has tens of megabytes
	}
	switch {
	case answer.err != nil:
		return fmt.Errorf("%w: %w", ErrBroken, answer.err)
	case err != nil:
		return fmt.Errorf("read the coordinator's answer: %w", err)
	}
	return nil
}

// answerBody keeps the error that ended an answer before its end: what was read of it is not malformed, only cut.
type answerBody struct {
	r   io.Reader
	err error
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// open sends a request and returns the answer, whose body the caller closes, or the error that the coordinator answered with.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://arbiter"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the coordinator: %w", err)
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, fmt.Errorf("read the coordinator's answer: %w", err)
	}
	var f fault
	if err := json.Unmarshal(data, &f); err != nil || f.Code == "" {
		return nil, fmt.Errorf("the coordinator answered %s without a reason", res.Status)
	}
	return nil, f.err(c.known)
}

func (c *Client) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*dialError](err); ok {
		if errors.Is(e, fs.ErrNotExist) || errors.Is(e, syscall.ECONNREFUSED) {
			return fmt.Errorf("%w for %s", ErrNotRunning, c.home)
		}
		return e
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
