package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"

	"github.com/google/go-cmp/cmp"
)

var errEnough = errors.New("enough")

// collect follows from after until the journal's end came.
func collect(t *testing.T, c *Client, after, end uint64) []amp.Entry {
	t.Helper()
	var got []amp.Entry
	err := c.Follow(t.Context(), after, func(batch []amp.Entry) error {
		if len(batch) == 0 || len(batch) > batchEntries {
			t.Errorf("a batch of %d entries", len(batch))
		}
		got = append(got, batch...)
		if got[len(got)-1].Seq == end {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("Follow = %v after %d entries", err, len(got))
	}
	return got
}

func TestFollow_resumesWithoutGaps(t *testing.T) {
	t.Parallel()
	j := &journal{entries: chain(50), cut: 7}
	c := serve(t, Config{Coordinator: &fake{follow: j.follow}})
	if diff := cmp.Diff(j.entries[4:], collect(t, c, 4, 50)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	want := []uint64{4, 11, 18, 25, 32, 39, 46}
	if !slices.Equal(j.begun, want) {
		t.Errorf("streams began after %v, want %v", j.begun, want)
	}
}

func TestFollow_survivesARestart(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	entries := chain(20)
	first := &journal{entries: entries[:10], cut: 100}
	stop := serveAt(t, home, Config{Coordinator: &fake{follow: first.follow}})
	c := NewClient(home, nil)
	var got []amp.Entry
	var restart sync.Once
	err := c.Follow(t.Context(), 0, func(batch []amp.Entry) error {
		got = append(got, batch...)
		if len(got) == 10 {
			restart.Do(func() {
				stop()
				second := &journal{entries: entries, cut: 100}
				serveAt(t, home, Config{Coordinator: &fake{follow: second.follow}})
			})
		}
		if len(got) == 20 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("Follow = %v", err)
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestFollow_largeEntriesAndManyInABatch(t *testing.T) {
	t.Parallel()
	entries := chain(600)
	entries[300].Body = []byte(strings.Repeat("\x01\"", 1<<17))
	c := serve(t, Config{Coordinator: &fake{follow: func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
		if err := batch(entries[after:]); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}})
	if diff := cmp.Diff(entries, collect(t, c, 0, 600)); diff != "" {
		t.Errorf("entries differ:\n%.500s", diff)
	}
}

// A server that skips an entry is not believed.
func TestFollow_refusesAGap(t *testing.T) {
	t.Parallel()
	entries := chain(9)
	holed := false
	c := serve(t, Config{Coordinator: &fake{follow: func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
		from := entries[after:]
		if !holed && after == 0 {
			holed = true
			from = slices.Concat(entries[:3], entries[4:])
		}
		if err := batch(from); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}})
	if diff := cmp.Diff(entries, collect(t, c, 0, 9)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestJournal_lastEventID(t *testing.T) {
	t.Parallel()
	j := &journal{entries: chain(9), cut: 3}
	c := serve(t, Config{Coordinator: &fake{follow: j.follow}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/v1/journal?after=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", "4")
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type = %q", ct)
	}
	var buf strings.Builder
	for part := make([]byte, 4096); ; {
		n, err := res.Body.Read(part)
		buf.Write(part[:n])
		if err != nil {
			break
		}
	}
	if got := strings.Count(buf.String(), "\nid: "); got != 3 || !strings.Contains(buf.String(), "\nid: 5\n") {
		t.Errorf("stream has %d entries:\n%s", got, buf.String())
	}
}

// pipes is a listener without sockets, so that a stream can live in fake time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- a:
		return b, nil
	case <-p.done:
		return nil, errors.New("closed")
	}
}

// An idle stream lives for hours on heartbeats alone, and carries what comes then.
func TestJournal_idleForHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		entries := chain(2)
		streams := 0
		f := &fake{follow: func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
			streams++
			if err := batch(entries[:1]); err != nil {
				return err
			}
			if err := wait(ctx, 5*time.Hour); err != nil {
				return err
			}
			return batch(entries[1:])
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(Config{Coordinator: f}).Serve(ctx, p) }()
		c := NewClient("", nil)
		c.transport.DialContext = p.dial
		got := collect(t, c, 0, 2)
		if diff := cmp.Diff(entries, got); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		if streams != 1 {
			t.Errorf("%d streams, want one that lives on", streams)
		}
		c.transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
}

// A coordinator that accepts and says nothing is given up after the patience of the client.
func TestFollow_silentPeerIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		held := []net.Conn{}
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			for {
				c, err := p.Accept()
				if err != nil {
					return
				}
				held = append(held, c)
				go func() { // reads the request and never answers
					buf := make([]byte, 4096)
					for {
						if _, err := c.Read(buf); err != nil {
							return
						}
					}
				}()
			}
		}()
		c := NewClient("", nil)
		c.transport.DialContext = p.dial
		c.Patience = 20 * time.Second
		begin := time.Now()
		err := c.Follow(t.Context(), 0, nil)
		if err == nil || time.Since(begin) < c.Patience || time.Since(begin) > 5*time.Minute {
			t.Errorf("Follow = %v after %v", err, time.Since(begin))
		}
		_ = p.Close()
		<-accepted
		for _, c := range held {
			_ = c.Close()
		}
		c.transport.CloseIdleConnections()
	})
}

// A caller who tries again itself hears at once that nobody answers.
func TestFollow_withoutPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		c := NewClient("", nil)
		c.transport.DialContext = p.dial
		c.Patience = -1
		begin := time.Now()
		_ = p.Close()
		if err := c.Follow(t.Context(), 0, nil); err == nil || time.Since(begin) != 0 {
			t.Errorf("Follow = %v after %v", err, time.Since(begin))
		}
	})
}

// Whatever a stream holds, what is handed on follows without a gap, and the stream ends in an error.
func FuzzFollowing(f *testing.F) {
	var stream strings.Builder
	for _, e := range chain(3) {
		data, err := e.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		fmt.Fprintf(&stream, "id: %d\ndata: %s\n\n", e.Seq, data)
	}
	f.Add([]byte(stream.String()))
	f.Add([]byte(": alive\n\nevent: fault\ndata: {\"code\":\"full\",\"what\":\"x\"}\n\n"))
	f.Add([]byte("data: {\"seq\":1,\ndata: \"at\":\"2026-01-01T00:00:00Z\"}\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := uint64(0)
		in := &following{batch: func(batch []amp.Entry) error {
			for _, e := range batch {
				if e.Seq != last+1 {
					t.Fatalf("entry %d came after %d", e.Seq, last)
				}
				last = e.Seq
			}
			return nil
		}}
		if err := in.read(bytes.NewReader(data), Sentinels{"full": errFull}, func() {}); err == nil {
			t.Error("the stream ended without an error")
		}
		if in.after != last {
			t.Errorf("the next stream would begin after %d, want %d", in.after, last)
		}
	})
}
