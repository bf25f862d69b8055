package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"
)

// heapDoor is the variable that names the socket on which a program under load says what its memory consists of.
const heapDoor = "ARBITER_LOAD_HEAP"

// heap is what a program's memory consists of, in bytes. Live is what its objects take when nothing that is garbage is left, so that it says what
// grows; Go is what the runtime holds of the system, beside which there are stacks of threads, the program itself and what SQLite took.
type heap struct {
	Live, Idle, Go int64
	Goroutines     int
}

// measured collects the garbage twice, since what a pool or a finalizer holds goes with the second time.
func measured() heap {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap{Live: int64(m.HeapAlloc), Idle: int64(m.HeapIdle - m.HeapReleased), Go: int64(m.Sys - m.HeapReleased), Goroutines: runtime.NumGoroutine()}
}

// watched lets a test ask for the heap of this process where that was asked for.
func watched() (stop func()) {
	path := os.Getenv(heapDoor)
	if path == "" {
		return func() {}
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/heap", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(measured()) })
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
	go func() { _ = s.Serve(l) }()
	return func() { s.Close() }
}

// heap asks the program what its memory consists of.
func (r *loadRig) heap() (h heap) {
	r.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", os.Getenv(heapDoor))
	}}}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://heap/heap", nil)
	if err != nil {
		r.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&h); err != nil {
		r.Fatal(err)
	}
	return h
}
