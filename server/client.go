package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
)

// Client is a coordinator reached through its socket, or over TCP. It is safe for concurrent use and holds no connection that it does not
// need; there is nothing to close.
type Client struct {
	// Patience is how long Follow keeps trying to reach a coordinator that went away, counted anew after each entry; 0 means 15 s,
	// and a negative one that Follow returns as soon as the stream breaks, for a caller who shows that and tries again itself.
	Patience  time.Duration
	home      string
	base      string // what the path of a request is put behind
	token     string
	known     Sentinels
	transport *http.Transport
}

// local stands for the socket where HTTP wants an address.
const local = "http://arbiter"

var _ Coordinator = (*Client)(nil)

// NewClient returns a client of the coordinator of the data directory home. It does not connect: each request finds the socket
// anew, so a client survives a restart of the coordinator.
func NewClient(home string, known Sentinels) *Client {
	c := &Client{home: home, base: local, known: known}
	c.transport = &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, home) },
		MaxIdleConns:    4,
		IdleConnTimeout: 30 * time.Second,
	}
	return c
}

// NewRemote returns a client of the coordinator at address, as https://host:port, with the token of a person or an agent. Without
// TLS it speaks to this machine only: a token that crosses a network in the clear is everybody's. It does not connect.
func NewRemote(address, token string, known Sentinels) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	switch {
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return nil, badRequest("%q is no address of a coordinator; write it as https://host:7700", clip(address, 200))
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &Error{
			Code: "request", What: "the token would cross the network in the clear", Means: "Nothing was sent.",
			Next: "Use https://" + u.Host + "; the coordinator needs tls_cert and tls_key under [listen].",
		}
	}
	return &Client{
		base: u.Scheme + "://" + u.Host, token: token, known: known,
		transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConns: 4, IdleConnTimeout: 20 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				d := net.Dialer{Timeout: 10 * time.Second}
				c, err := d.DialContext(ctx, network, addr)
				if err != nil {
					return nil, &dialError{err}
				}
				return c, nil
			},
		},
	}, nil
}

// Remote is the address of a coordinator that is reached over TCP, "" of one that is reached through its socket.
func (c *Client) Remote() string {
	if c.base == local {
		return ""
	}
	return c.base
}

// UnreachedError says that nothing answers at the address of a coordinator elsewhere: nothing was asked.
type UnreachedError struct {
	URL string
	Err error
}

// Error names the address and the cause.
func (e *UnreachedError) Error() string {
	return fmt.Sprintf("no coordinator is reached at %s: %v", e.URL, e.Err)
}

// Unwrap is the cause.
func (e *UnreachedError) Unwrap() error { return e.Err }

// Ask asks a further operation of the API, one of [Config].Routes, and reads its answer into out.
func (c *Client) Ask(ctx context.Context, method, path string, out any) error {
	return c.do(ctx, method, path, nil, out)
}

// Me is who the coordinator takes this client for.
func (c *Client) Me(ctx context.Context) (m Me, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/me", nil, &m)
	return m, err
}

// Tokens lists the tokens, NewToken makes one, RevokeToken ends them by id or name; on the socket only.
func (c *Client) Tokens(ctx context.Context) (all []Token, err error) {
	err = c.do(ctx, http.MethodGet, "/v1/tokens", nil, &all)
	return all, err
}

// NewToken makes a token. Its secret is in the answer and nowhere else.
func (c *Client) NewToken(ctx context.Context, n NewToken) (made MadeToken, err error) {
	err = c.post(ctx, "/v1/tokens", n, &made)
	return made, err
}

// RevokeToken ends a token by its id, or every one of a bearer by name, and returns what it ended.
func (c *Client) RevokeToken(ctx context.Context, which string) (ended []Token, err error) {
	err = c.do(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(which), nil, &ended)
	return ended, err
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
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the coordinator: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
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
		if c.base != local {
			return &UnreachedError{URL: c.base, Err: e.err}
		}
		if errors.Is(e, fs.ErrNotExist) || errors.Is(e, syscall.ECONNREFUSED) {
			return fmt.Errorf("%w for %s", ErrNotRunning, c.home)
		}
		return e
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &UnreachedError{URL: c.base, Err: err}
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
