package agenttest

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/modeltest"
	"arbiter/providers/sandbox"
)

// swallowing is an address of loopback that swallows what is sent to it, as a broken network does: its queue of connections is full.
func swallowing(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	for range 16 {
		c, err := (&net.Dialer{Timeout: 500 * time.Millisecond}).DialContext(t.Context(), "tcp", addr)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return addr
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Skip("NOT TESTED: this system takes connections that nobody accepts")
	return ""
}

// lostNetwork: a network that swallows everything ends the turn soon after the first try; no program is waited for that tries on.
func lostNetwork(t *testing.T, r *Real) {
	var first time.Time
	leash := sandbox.Leash{Answered: func(int, time.Duration) {
		if first.IsZero() {
			first = time.Now()
		}
	}}
	b := &bench{real: r, turn: newTurn(t, amp.Executor)}
	b.model = modeltest.Start(t, modeltest.Script{})
	b.address = "http://" + swallowing(t)
	b.agree(t, leash)
	began := time.Now()
	_, err := b.run(t)
	if ClassOf(err) != providers.FailTransport {
		t.Errorf("Run = %v", err)
	}
	t.Logf("the turn took %s, of that %s before the network was known to be lost", time.Since(began), first.Sub(began))
	if after := time.Since(first); first.IsZero() || after > 10*time.Second {
		t.Errorf("it went on for %s after the network was known to be lost", after)
	}
}
