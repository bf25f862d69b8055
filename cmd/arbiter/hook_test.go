package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/ssot/events"
)

// hookServer is the receiver of a script's webhook. It refuses one type of event, and keeps the types of those that it took.
type hookServer struct {
	mu      sync.Mutex
	changed *sync.Cond
	url     string
	code    int
	refuses string
	types   []string
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.changed.Broadcast()
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = events.Verify([]byte("k-hook-0123456789"), r.Header.Get(events.SignatureHeader), body, time.Now(), time.Hour)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	e, errs, _ := events.Decode(body)
	if len(errs) > 0 {
		http.Error(w, fmt.Sprint(errs), http.StatusForbidden)
		return
	}
	if h.refuses != "" && e.Type == h.refuses {
		w.WriteHeader(h.code)
		return
	}
	h.types = append(h.types, e.Type)
}

// hook answers a type of event with a status from now on, and puts the receiver's address into $HOOK: hook CODE [TYPE].
func hook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: hook CODE [TYPE]")
	}
	h := ts.Value("hook").(*hookServer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.url == "" {
		s := httptest.NewServer(h)
		ts.Defer(s.Close)
		h.url = s.URL
		h.changed = sync.NewCond(&h.mu)
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	h.code, h.refuses = code, ""
	if len(args) == 2 {
		h.refuses = args[1]
	}
	ts.Setenv("HOOK", h.url)
}

// hooked waits until events of these types came, in this order: hooked TYPE...
func hooked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hooked TYPE...")
	}
	h := ts.Value("hook").(*hookServer)
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		at := 0
		for _, typ := range args {
			i := slices.Index(h.types[at:], typ)
			if i < 0 {
				at = -1
				break
			}
			at += i + 1
		}
		if at >= 0 {
			return
		}
		h.changed.Wait()
	}
}

// frames follows events over WebSocket until these types came, in this order: frames ADDRESS TOKEN QUERY TYPE...
func frames(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: frames ADDRESS TOKEN QUERY TYPE...")
	}
	c, _, err := websocket.Dial(context.Background(), "ws://"+args[0]+"/v1/events/ws?"+args[2], &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + args[1]}},
	})
	ts.Check(err)
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(events.MaxEvent)
	for left := args[3:]; len(left) > 0; {
		_, data, err := c.Read(context.Background())
		ts.Check(err)
		e, errs, _ := events.Decode(data)
		if len(errs) > 0 {
			ts.Fatalf("%v in %s", errs, data)
		}
		if e.Type == left[0] {
			left = left[1:]
		}
	}
}
