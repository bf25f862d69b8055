//go:build linux || darwin

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"arbiter/scratch"
)

// proxyName begins the names of the folders in which proxies have their sockets.
const proxyName = "arbiter-proxy"

// shortTemp holds those folders where the path of the system's own is too long for a socket.
const shortTemp = "/tmp"

// Sweep removes the sockets that proxies of killed processes left in the system's folder for temporary files.
func Sweep() error {
	err := scratch.Sweep("", proxyName)
	if os.TempDir() != shortTemp {
		err = errors.Join(err, scratch.Sweep(shortTemp, proxyName))
	}
	return err
}

// cagePort is where the model is reached inside a cage of Bubblewrap. The port is of a network of the cage's own, so nobody else has it.
const cagePort = 20128

// The bounds of what a program may send. A model that thinks before it answers sends nothing for minutes.
const (
	maxRequest     = 64 << 20
	maxHeader      = 256 << 10
	maxConnections = 64
	headersIn      = 30 * time.Second
	answerIn       = 15 * time.Minute
	// dialIn bounds the way to the model; the kernel has asked three times by then. It begins with the program, not with its first request: so a
	// network that swallows everything is found out however long the program takes to begin.
	dialIn = 4 * time.Second
	// lostFor is how long a model that a dial did not reach is not dialled again: programs try many times, each waiting as long.
	lostFor = 20 * time.Second
)

// proxy is the way of one cage to its model. It is the only holder of the key.
type proxy struct {
	model  Model
	target *url.URL
	caps   Caps
	meter  func(Used) error
	told   func(status int, retry time.Duration)
	url    string       // as programs reach it
	prefix string       // in front of every path, a secret where others could reach the port
	remove func() error // takes the folder of the socket away
	socket string
	port   int
	log    *lines

	server    *http.Server
	transport *http.Transport
	ctx       context.Context // ends with a *StoppedError as its cause, or by close
	cancel    context.CancelCauseFunc
	requests  atomic.Int64
	bytes     atomic.Int64
	probed    chan struct{} // closed when it is known whether the model can be reached
	lost      atomic.Int64  // when a dial last ran into its time, in nanoseconds
	under     chan struct{} // holds one for each request under way
	done      chan struct{}
}

// openProxy listens on a unix socket, or on loopback behind a secret prefix.
func openProxy(l *Leash, unixSocket bool) (*proxy, error) {
	target, err := url.Parse(l.Model.URL)
	if err != nil || target.Host == "" || target.Scheme != "https" && target.Scheme != "http" || target.User != nil || target.RawQuery != "" {
		return nil, fmt.Errorf("%q is no address of a model; it is like https://api.example.com/v1", redactedURL(l.Model.URL))
	}
	target.Path, target.RawPath = strings.TrimSuffix(target.Path, "/"), ""
	p := &proxy{
		model: l.Model, target: target, caps: l.Caps, meter: l.Meter, told: l.Answered, done: make(chan struct{}),
		under: make(chan struct{}, maxConnections), probed: make(chan struct{}),
	}
	p.transport = p.newTransport()
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	listener, err := p.listen(unixSocket)
	if err != nil {
		p.cancel(nil)
		if p.remove != nil {
			_ = p.remove() // temporary
		}
		return nil, err
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.handle), ReadHeaderTimeout: headersIn, MaxHeaderBytes: maxHeader,
		ErrorLog: silent, BaseContext: func(net.Listener) context.Context { return p.ctx },
	}
	go p.probe()
	go func() {
		defer close(p.done)
		_ = p.server.Serve(listener) // ends by close
	}()
	return p, nil
}

func redactedURL(text string) string {
	if u, err := url.Parse(text); err == nil {
		u.RawQuery = ""
		return u.Redacted()
	}
	return "that"
}

func (p *proxy) listen(unixSocket bool) (net.Listener, error) {
	var lc net.ListenConfig
	if !unixSocket {
		p.prefix = "/" + rand.Text()
		l, err := lc.Listen(p.ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		p.port = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it is one
		p.url = p.address(p.port)
		return l, nil
	}
	dir, remove, err := scratch.Make("", proxyName)
	if err == nil && len(dir) > 90 { // the kernel wants paths of sockets under 108 bytes
		_ = remove()
		dir, remove, err = scratch.Make(shortTemp, proxyName)
	}
	if err != nil {
		return nil, err
	}
	p.remove, p.socket = remove, filepath.Join(dir, "model")
	p.url = p.address(cagePort)
	return lc.Listen(p.ctx, "unix", p.socket)
}

func (p *proxy) address(port int) string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + p.prefix + p.target.Path
}

// stop lets nothing more through; the first reason stays.
func (p *proxy) stop(err *StoppedError) { p.cancel(err) }

// close ends every request and returns when the listener is gone.
func (p *proxy) close() {
	p.cancel(nil)
	_ = p.server.Close() // what is under way ends with the context
	<-p.done
	<-p.probed
	p.transport.CloseIdleConnections()
	if p.remove != nil {
		_ = p.remove() // temporary
	}
}

// handle judges one request and passes it on.
func (p *proxy) handle(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer := &answer{ResponseWriter: w, proxy: p}
	path := "…" // what is refused is not quoted
	defer func() {
		if broken := recover(); broken != nil {
			p.log.write("%s %s cut after %s", r.Method, path, round(time.Since(began)))
			panic(http.ErrAbortHandler)
		}
		p.log.write("%s %s %d, %d bytes in %s", r.Method, path, answer.status, answer.sent, round(time.Since(began)))
	}()
	out, refused := p.admit(r)
	if refused != nil {
		answer.refuse(refused.status, refused.why)
		return
	}
	path = out.Path
	select {
	case p.under <- struct{}{}:
		defer func() { <-p.under }()
	default:
		answer.refuse(http.StatusTooManyRequests, "too many requests are under way")
		return
	}
	key := ""
	if p.model.Key != nil {
		var err error
		if key, err = p.model.Key(); err != nil || key == "" {
			p.stop(&StoppedError{Reason: "the key of the model cannot be read"})
			answer.refuse(http.StatusForbidden, p.reason())
			return
		}
	}
	p.forward(answer, r, out, key)
}

// forward sends the request on under its new address, and its answer back as it comes.
func (p *proxy) forward(w *answer, r *http.Request, to *url.URL, key string) {
	r.Body = &counted{ReadCloser: http.MaxBytesReader(w, r.Body, maxRequest), proxy: p}
	rp := &httputil.ReverseProxy{
		Transport: p.transport, FlushInterval: -1, ErrorLog: silent,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = to, to.Host
			strip(pr.Out.Header)
			if key == "" {
				return
			}
			if h := p.model.Header; h != "" && !strings.EqualFold(h, "Authorization") {
				pr.Out.Header.Set(h, key)
			} else {
				pr.Out.Header.Set("Authorization", "Bearer "+key)
			}
		},
		ModifyResponse: func(res *http.Response) error {
			res.Header.Del("Set-Cookie")
			hide(res, key)
			p.measure(res)
			p.tell(res.StatusCode, retryAfter(res.Header.Get("Retry-After"), time.Now()))
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			status, why := p.trouble(err)
			if r.Context().Err() == nil { // else the program left, or the turn is over
				p.tell(0, time.Until(time.Unix(0, p.lost.Load()).Add(lostFor)))
			}
			w.refuse(status, why)
		},
	}
	rp.ServeHTTP(w, r)
}

// tell says what became of a request.
func (p *proxy) tell(status int, retry time.Duration) {
	if p.told != nil {
		p.told(status, max(retry, 0))
	}
}

// maxRetry is the longest wait that a service is believed to ask for.
const maxRetry = 7 * 24 * time.Hour

// retryAfter reads the header of that name, 0 when it says nothing.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxRetry)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetry)
	}
	return 0
}

// silent drops what the library would say about broken connections: the log of the turn has a line for each request.
var silent = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

// probe finds out whether the model's network answers at all. Behind a proxy of the person's that is not for us to say.
func (p *proxy) probe() {
	defer close(p.probed)
	if via, err := p.transport.Proxy(&http.Request{URL: p.target}); via != nil || err != nil {
		return
	}
	port := p.target.Port()
	if port == "" {
		port = p.target.Scheme // net knows both by name
	}
	conn, err := p.reach(p.ctx, "tcp", net.JoinHostPort(p.target.Hostname(), port))
	switch {
	case err == nil:
		_ = conn.Close() // it was opened to see that it opens
	case p.lost.Load() != 0:
		p.tell(0, lostFor)
	}
}

// dial reaches out unless that failed just now.
func (p *proxy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-p.probed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if lost := p.lost.Load(); lost != 0 && time.Since(time.Unix(0, lost)) < lostFor {
		return nil, fmt.Errorf("not tried again so soon: %w", os.ErrDeadlineExceeded)
	}
	return p.reach(ctx, network, addr)
}

// reach notes when a dial runs into its time.
func (p *proxy) reach(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialIn, KeepAlive: 30 * time.Second}).DialContext(ctx, network, addr)
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		p.lost.Store(time.Now().UnixNano())
	}
	return conn, err
}

// newTransport reaches the model as this process reaches the network. Answers come uncompressed, so that their usage can be read.
func (p *proxy) newTransport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: p.dial,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: dialIn, ResponseHeaderTimeout: answerIn, DisableCompression: true,
	}
}

// trouble is what a program is told when the model cannot be reached. The error itself may name addresses; its kind is enough.
func (p *proxy) trouble(err error) (status int, why string) {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is larger than %d bytes", big.Limit)
	}
	if why := p.reason(); why != "" {
		return http.StatusForbidden, why
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return http.StatusGatewayTimeout, "the model did not answer in time"
	}
	return http.StatusBadGateway, "the model cannot be reached"
}

// reason is why nothing more is let through, "" while it is.
func (p *proxy) reason() string {
	switch cause := context.Cause(p.ctx); {
	case cause == nil:
		return ""
	case errors.Is(cause, context.Canceled):
		return "the turn is over"
	default:
		return cause.Error()
	}
}

// lines writes whole lines; nil and a zero one write nothing.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) write(format string, args ...any) {
	if l == nil || l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.w, "[model] "+format+"\n", args...) // whoever keeps the log says when it is incomplete
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
