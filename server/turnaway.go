package server

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// The bounds of how a connection too many is turned away.
const (
	// lingering is how many are waited for at once until they have read why; a further one is closed at once.
	lingering = 64
	// lingerTime and lingerBytes are how long, and how much of what it sends is read meanwhile: closing with bytes unread would take the answer back.
	lingerTime  = time.Second
	lingerBytes = 256 << 10
)

// Close closes the listener, and waits until those that were turned away are gone.
func (l *boundedListener) Close() error {
	err := l.Listener.Close()
	l.end.Do(func() {
		for range lingering {
			l.linger <- struct{}{}
		}
	})
	return err
}

// letGo ends a connection with the answer that it gets: who has no token keeps no place for others, and who sends too much is not read to the end.
func letGo(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "unauthorized" && e.Code != "too_large" {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTime)) // a test's recorder has none
}

// turnAway answers a connection that there is no room for, and closes it. It does not wait.
func (l *boundedListener) turnAway(c net.Conn) {
	if !l.plain {
		_ = c.Close() // it waits for a handshake, which costs more than it may
		return
	}
	_ = c.SetDeadline(time.Now().Add(lingerTime))
	_, _ = c.Write(busyAnswer) // a few bytes fit into the buffer of a fresh connection
	half, ok := c.(*net.TCPConn)
	if !ok || half.CloseWrite() != nil {
		_ = c.Close()
		return
	}
	select {
	case l.linger <- struct{}{}:
		go func() {
			_, _ = io.CopyN(io.Discard, c, lingerBytes)
			_ = c.Close()
			<-l.linger
		}()
	default:
		_ = c.Close()
	}
}
