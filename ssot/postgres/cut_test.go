package postgres

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// The ways of a proxy to deal with what a client sends inside a transaction.
const (
	pass = iota
	cutBefore
	cutWithin
	cutAfter  // everything was sent, and the server may still be at it
	cutAnswer // the server has answered, and the client never hears it
	ways
)

// proxy stands between clients and a server and breaks connections in the middle of transactions.
type proxy struct {
	to  string
	dir string

	mu   sync.Mutex
	n    int
	cuts [ways]int
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{to: to, dir: shortDir(t)}
	l, err := net.Listen("unix", filepath.Join(p.dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close() // the socket goes with the folder
		serving.Wait()
	})
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(c) })
		}
	})
	return p
}

// way says what becomes of the next group of messages inside a transaction: most pass.
func (p *proxy) way() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	w := pass
	if p.n%2 == 0 {
		w = cutBefore + p.n/2%(ways-1)
	}
	p.cuts[w]++
	return w
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	first, err := message(client, 0) // the start has no type
	if err != nil {
		return
	}
	if _, err := server.Write(first); err != nil {
		return
	}
	if _, err := answer(server, client); err != nil {
		return
	}
	inside := false
	for {
		group, err := groupOf(client)
		if err != nil {
			return
		}
		way := pass
		if inside {
			way = p.way()
		}
		send := group
		switch way {
		case cutBefore:
			return
		case cutWithin:
			send = group[:len(group)/2]
		}
		if _, err := server.Write(send); err != nil {
			return
		}
		switch way {
		case cutWithin, cutAfter:
			return
		case cutAnswer:
			_, _ = answer(server, io.Discard)
			return
		}
		status, err := answer(server, client)
		if err != nil {
			return
		}
		inside = status == 'T'
	}
}

// message reads one message, with its type of n bytes.
func message(r io.Reader, n int) ([]byte, error) {
	head := make([]byte, n+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	all := make([]byte, n+int(binary.BigEndian.Uint32(head[n:])))
	copy(all, head)
	_, err := io.ReadFull(r, all[n+4:])
	return all, err
}

// groupOf reads what a client sends until it waits for the answer.
func groupOf(r io.Reader) (all []byte, err error) {
	for {
		m, err := message(r, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, m...)
		if m[0] == 'S' || m[0] == 'Q' { // Sync, or a simple query
			return all, nil
		}
	}
}

// answer forwards what a server sends until it is ready, and returns the status that it then tells.
func answer(r io.Reader, w io.Writer) (status byte, err error) {
	for {
		m, err := message(r, 1)
		if err != nil {
			return 0, err
		}
		if _, err := w.Write(m); err != nil {
			return 0, err
		}
		if m[0] == 'Z' {
			return m[5], nil
		}
	}
}

// TestCut breaks the connection of the writer before, within and after its COMMIT. Every append is acknowledged, and stored once.
func TestCut(t *testing.T) {
	t.Parallel()
	s := server(t)
	schema := s.Schema()
	direct := open(t, Options{URL: s.URL(schema)})
	p := startProxy(t, s.Socket())
	log := open(t, Options{URL: fmt.Sprintf("postgres://owner@/postgres?host=%s&search_path=%s", p.dir, schema)})
	const producers, each = 4, 10
	var wg sync.WaitGroup
	for i := range producers {
		wg.Go(func() {
			for n := range each {
				// A refusal of a new task gets a key of its own; the tasks are shared by all producers.
				batch := []amp.Record{ssottest.Note(fmt.Sprint(i, "-", n), ssottest.Task(1+n%3), "x"), ssottest.Refusal(fmt.Sprint("r", i, "-", n), ssottest.Task(10+n), nil)}
				out, err := log.Append(t.Context(), batch)
				if err != nil {
					t.Errorf("append %d-%d: %v", i, n, err)
					return
				}
				for _, a := range out {
					if !a.Fresh || a.Err != nil {
						t.Errorf("append %d-%d: %+v; what the writer itself sent again is fresh", i, n, a)
					}
				}
			}
		})
	}
	wg.Wait()
	if h, err := direct.Head(t.Context()); err != nil || h.Seq != 2*producers*each {
		t.Errorf("the head is %d, %v; want %d", h.Seq, err, 2*producers*each)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for way, n := range p.cuts {
		if n == 0 {
			t.Errorf("no connection was cut in way %d", way)
		}
	}
	whole(t, direct)
}

// whole wants a journal and its projections to be what was written.
func whole(t testing.TB, log *Log) {
	t.Helper()
	r, err := log.Verify(t.Context(), nil)
	if err != nil || r.Err(log.name) != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := ssottest.CheckJournal(t.Context(), log); err != nil {
		t.Error(err)
	}
}
