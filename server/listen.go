package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// TCP says where the client API listens besides the socket, and how.
type TCP struct {
	// Addr is host:port. A host that is no loopback address, the empty one too, needs Cert and Key.
	Addr string
	// Cert and Key are PEM files. They are read again when they change, so that a renewed certificate needs no restart.
	Cert, Key string
	// MaxConns is how many connections are open at once; 0 means 1,024, and half of the files that the process may open, without 256, is the most.
	// One more is answered 503 and closed, or with TLS just closed.
	MaxConns int
	// MaxPerAddr is how many of them one address has that is no loopback address; 0 means a quarter of MaxConns.
	MaxPerAddr int
}

// ErrPlain says that an address which others reach was to be opened without TLS.
var ErrPlain = errors.New("an address that is not loopback needs TLS")

// ListenTCP opens the address. It is [ErrPlain] when that is no loopback address and there is no certificate.
func ListenTCP(ctx context.Context, c TCP) (net.Listener, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", c.Addr, err)
	}
	if c.Cert == "" && !loopback(host) {
		return nil, fmt.Errorf("listen on %s: %w", c.Addr, ErrPlain)
	}
	var pair *certificate
	if c.Cert != "" {
		pair = &certificate{cert: c.Cert, key: c.Key}
		if _, err := pair.get(nil); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Addr, err)
	}
	if c.MaxConns <= 0 {
		c.MaxConns = 1024
	}
	if c.MaxPerAddr <= 0 {
		c.MaxPerAddr = max(1, c.MaxConns/4)
	}
	if most := room(); most > 0 {
		c.MaxConns = min(c.MaxConns, most)
	}
	bounded := &boundedListener{Listener: l, all: c.MaxConns, each: c.MaxPerAddr, plain: pair == nil, open: map[string]int{}, linger: make(chan struct{}, lingering)}
	if pair == nil {
		return bounded, nil
	}
	return tls.NewListener(bounded, &tls.Config{GetCertificate: pair.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// loopback reports whether only this machine reaches a host. A name but localhost is not resolved: what it means can change.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// certificate is a pair of files.
type certificate struct {
	cert, key string

	mu   sync.Mutex
	seen time.Time
	pair *tls.Certificate
}

// get returns the certificate; a pair that became unreadable leaves the one before in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.pair != nil && info.ModTime().Equal(c.seen) {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		if c.pair != nil {
			return c.pair, nil //nolint:nilerr // half of a renewed pair is there; the next connection looks again
		}
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	if info != nil {
		c.seen = info.ModTime()
	}
	c.pair = &pair
	return c.pair, nil
}

// Hosts reports which names a request may call this address by: IP addresses, localhost, and with TLS what the certificate says.
// A page in a browser that was led here by another name (DNS rebinding) is none of them.
func (c TCP) Hosts() (func(host string) bool, error) {
	var leaf *x509.Certificate
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		leaf = pair.Leaf
	}
	return func(host string) bool {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil || leaf != nil && leaf.VerifyHostname(host) == nil
	}, nil
}

// boundedListener keeps only so many connections open, and says so to the others.
type boundedListener struct {
	net.Listener
	all, each int
	plain     bool
	linger    chan struct{}
	end       sync.Once

	mu   sync.Mutex
	n    int
	open map[string]int // by address
}

// busyAnswer is what a connection too many reads.
var busyAnswer = func() []byte {
	body := `{"code":"unavailable","what":"too many connections are open","means":"Nothing was done.","next":"Try again."}`
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"+
		"Connection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// Accept returns the next connection that there is room for.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		addr := hostOf(c.RemoteAddr())
		if l.enter(addr) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { l.left(addr) })}, nil
		}
		l.turnAway(c)
	}
}

func (l *boundedListener) enter(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n >= l.all || !loopback(addr) && l.open[addr] >= l.each {
		return false
	}
	l.n++
	l.open[addr]++
	return true
}

func (l *boundedListener) left(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.open[addr]--; l.open[addr] <= 0 {
		delete(l.open, addr)
	}
}

type boundedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection and makes room for another one.
func (c *boundedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// hostOf is the address of a peer without its port.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
