package modeltest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// Transport is a way to a handler without a network, for tests with a clock of their own: nothing in it blocks on a socket. An answer
// that the handler aborts is cut with [io.ErrUnexpectedEOF].
func Transport(h http.Handler) http.RoundTripper { return inside{h} }

type inside struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	body, pipe := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pipe, begun: make(chan struct{})}
	sent := r.Clone(r.Context())
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	aborted := make(chan struct{})
	go func() {
		defer func() {
			if p := recover(); p != nil {
				close(aborted)
				pipe.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			w.WriteHeader(http.StatusOK)
			pipe.CloseWithError(nil)
		}()
		t.handler.ServeHTTP(w, sent)
	}()
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	select {
	case <-w.begun:
	case <-aborted:
		select {
		case <-w.begun:
		default:
			return nil, io.ErrUnexpectedEOF
		}
	case <-r.Context().Done():
		body.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	context.AfterFunc(r.Context(), func() { body.CloseWithError(r.Context().Err()) })
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.sent, Body: body, Request: r, ContentLength: -1,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// pipeWriter is the answer of a handler on its way.
type pipeWriter struct {
	header, sent http.Header
	status       int
	once         sync.Once
	begun        chan struct{}
	pipe         *io.PipeWriter
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush implements [http.Flusher]: nothing is held back.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
