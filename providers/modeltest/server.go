package modeltest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Server is a model behind a port of loopback.
type Server struct {
	*Model
	http *httptest.Server
}

// Start serves the scripts until the test ends.
func Start(t testing.TB, scripts ...Script) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", scripts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Listen serves the scripts at an address until Close. Another address than loopback is an error.
func Listen(address string, scripts ...Script) (*Server, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if !at.IP.IsLoopback() {
		return nil, &net.AddrError{Err: "a scripted model serves loopback only", Addr: address}
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, err
	}
	s := &Server{Model: New(scripts...)}
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.Model, ReadHeaderTimeout: time.Minute}}
	s.http.Start()
	return s, nil
}

// URL is the address without a path: any prefix may follow.
func (s *Server) URL() string { return s.http.URL }

// Close ends what hangs and stops the server.
func (s *Server) Close() {
	s.Model.Close()
	s.http.CloseClientConnections()
	s.http.Close()
}

var _ http.Handler = (*Model)(nil)
