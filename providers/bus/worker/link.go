package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"arbiter/amp"
	"arbiter/providers/bus"
)

// link speaks to the bus.
type link struct {
	url, token string
	http       *http.Client
}

// statusError is an answer of the bus that is no success.
type statusError struct {
	code int
	text string
}

// Error is what the bus said.
func (e *statusError) Error() string { return e.text }

// notOpen reports whether the bus has no such request open, now.
func notOpen(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.code == http.StatusConflict
}

// refused reports whether the bus will not take it, however often it is asked.
func refused(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && (e.code == http.StatusBadRequest || e.code == http.StatusRequestEntityTooLarge || e.code == http.StatusNotFound)
}

// unwelcome reports whether the token does not open the bus.
func unwelcome(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && (e.code == http.StatusUnauthorized || e.code == http.StatusForbidden)
}

// ErrToken says that the coordinator does not accept the token.
var ErrToken = errors.New("the coordinator does not accept the token")

// Probe finds out whether a coordinator's bus answers at an address, and accepts a token; that one does not is [ErrToken].
func Probe(ctx context.Context, url, token string) error {
	l := &link{url: url, token: token, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	var health struct {
		Status string `json:"status"`
	}
	if err := l.ask(ctx, http.MethodGet, "/health", nil, nil, &health); err != nil {
		return err
	}
	err := l.ask(ctx, http.MethodGet, "/metrics", nil, nil, nil)
	if unwelcome(err) {
		return fmt.Errorf("%w: %v", ErrToken, err)
	}
	return err
}

// do asks the bus. The caller closes the body.
func (l *link) do(ctx context.Context, method, path string, query url.Values, body io.Reader, size int64) (*http.Response, error) {
	full := l.url + path
	if len(query) > 0 {
		full += "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	}
	r, err := http.NewRequestWithContext(ctx, method, full, body)
	if err != nil {
		return nil, err
	}
	if size > 0 {
		r.ContentLength = size
	}
	r.Header.Set("X-Agent-Api-Key", l.token)
	res, err := l.http.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 8<<10)) // what is not read is not said
	var said struct {
		Error string `json:"error"`
		What  string `json:"what"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error+said.What == "" {
		said.Error = http.StatusText(res.StatusCode)
	}
	return nil, &statusError{res.StatusCode, said.Error + said.What}
}

// ask asks for JSON.
func (l *link) ask(ctx context.Context, method, path string, query url.Values, in []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	res, err := l.do(ctx, method, path, query, bytes.NewReader(in), int64(len(in)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s answers with something else than the bus: %v", l.url, err)
	}
	return nil
}

// askTime bounds one small request.
const askTime = time.Minute

// register makes an agent known. One that is known already is no error here: connecting shows whether it is ours.
func (l *link) register(ctx context.Context, agent string, descriptor []byte) error {
	err := l.ask(ctx, http.MethodPost, "/agents/register", nil, descriptor, nil)
	if e, ok := errors.AsType[*statusError](err); ok && e.code == http.StatusBadRequest && strings.Contains(e.text, "already registered") {
		return nil
	}
	return err
}

// send sends a message; it is in the coordinator's journal when that returns nil.
func (l *link) send(ctx context.Context, m *bus.Message) error {
	raw, err := m.Encode()
	if err != nil {
		return &statusError{http.StatusBadRequest, err.Error()}
	}
	return l.ask(ctx, http.MethodPost, "/messages/send", nil, raw, nil)
}

// socket opens the WebSocket of an agent.
func (l *link) socket(ctx context.Context, agent string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c, res, err := websocket.Dial(ctx, l.url+"/?"+url.Values{"agent_id": {agent}}.Encode(), &websocket.DialOptions{ //nolint:bodyclose // Dial says that there is nothing to close
		HTTPClient: l.http, HTTPHeader: http.Header{"X-Agent-Api-Key": {l.token}},
	})
	if err != nil {
		if res != nil && res.StatusCode >= 400 {
			return nil, &statusError{res.StatusCode, http.StatusText(res.StatusCode)}
		}
		return nil, err
	}
	c.SetReadLimit(bus.MaxRequest + 4096)
	return c, nil
}

func requestPath(messageID string) string { return "/requests/" + url.PathEscape(messageID) }

// fetch writes the bundle of the commit that a request starts from to a file.
func (l *link) fetch(ctx context.Context, agent, messageID string, have []string, file string) (int64, error) {
	in, err := json.Marshal(map[string]any{"have": have})
	if err != nil {
		return 0, err
	}
	res, err := l.do(ctx, http.MethodPost, requestPath(messageID)+"/repository", url.Values{"agent_id": {agent}}, bytes.NewReader(in), int64(len(in)))
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, res.Body)
	return n, errors.Join(err, f.Close())
}

// maxDiff is more than any diff that a coordinator sends.
const maxDiff = 16 << 20

// diff is the diff that a review is about.
func (l *link) diff(ctx context.Context, agent, messageID string) ([]byte, error) {
	res, err := l.do(ctx, http.MethodGet, requestPath(messageID)+"/diff", url.Values{"agent_id": {agent}}, nil, 0)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, maxDiff))
}

// ended asks which of these tasks have ended.
func (l *link) ended(ctx context.Context, agent string, spaces []amp.Workspace) ([]amp.TaskID, error) {
	in, err := json.Marshal(map[string]any{"tasks": spaces})
	if err != nil {
		return nil, err
	}
	var out struct {
		Ended []amp.TaskID `json:"ended"`
	}
	err = l.ask(ctx, http.MethodPost, "/tasks/ended", url.Values{"agent_id": {agent}}, in, &out)
	return out.Ended, err
}

// upload sends a parcel's bundle, from where the last try broke off.
func (l *link) upload(ctx context.Context, agent, messageID, file string, p *amp.Parcel) error {
	path := requestPath(messageID) + "/bundles/" + p.SHA256
	var here struct {
		Received int64 `json:"received"`
	}
	if err := l.ask(ctx, http.MethodGet, path, url.Values{"agent_id": {agent}}, nil, &here); err != nil {
		return err
	}
	for tries := 0; here.Received < p.Bytes; tries++ {
		if tries > 3 {
			return errors.New("the coordinator takes no more of the bundle")
		}
		if err := l.piece(ctx, path, agent, file, here.Received, p.Bytes, &here.Received); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) piece(ctx context.Context, path, agent, file string, from, size int64, received *int64) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	query := url.Values{"agent_id": {agent}, "offset": {strconv.FormatInt(from, 10)}, "size": {strconv.FormatInt(size, 10)}}
	res, err := l.do(ctx, http.MethodPut, path, query, io.LimitReader(f, size-from), size-from)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var here struct {
		Received int64 `json:"received"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 4096)).Decode(&here); err != nil {
		return fmt.Errorf("read what became of the bundle: %w", err)
	}
	*received = here.Received
	return nil
}

// patience is the time between tries: it doubles up to a bound, with a part left to chance, so that many workers do not come at once.
type patience struct{ n int }

const (
	firstWait = 100 * time.Millisecond
	longWait  = 10 * time.Second
)

func (p *patience) next() time.Duration {
	d := min(longWait, firstWait<<min(p.n, 10))
	p.n++
	return d/2 + rand.N(d/2)
}

// wait waits for the next try, and reports whether there is to be one.
func (p *patience) wait(ctx context.Context, wake <-chan struct{}) bool {
	t := time.NewTimer(p.next())
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}
