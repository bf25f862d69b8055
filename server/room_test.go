//go:build unix

package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Whatever is configured, two addresses that are full leave files for everything else.
func TestRoom(t *testing.T) {
	t.Parallel()
	for files, want := range map[int]int{1: 1, 256: 32, 1024: 256, 4096: 1792, 20_000: 9744, 1 << 20: 1<<19 - 256} {
		if got := roomOf(files); got != want || files >= 256 && files-2*got < 192 {
			t.Errorf("of %d files %d connections, want %d", files, got, want)
		}
	}
	l, err := ListenTCP(t.Context(), TCP{Addr: "127.0.0.1:0", MaxConns: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if most := room(); most > 0 && l.(*boundedListener).all != most {
		t.Errorf("room for %d connections, want %d", l.(*boundedListener).all, most)
	}
}

func dialTCP(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

// A client that has sent its request reads why it is turned away, also when the request is larger than what is read of it at once.
func TestListenTCP_turnedAwayReadsWhy(t *testing.T) {
	t.Parallel()
	addr, _, _ := remote(t, &fake{query: status}, TCP{MaxConns: 1}, nil)
	first := dialTCP(t, addr)
	defer first.Close()
	for range 200 {
		c := dialTCP(t, addr)
		if _, err := io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100_000)); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 503 ") {
			t.Fatalf("it read %q, %v", said, err)
		}
		c.Close()
	}
}

// A stranger's connection ends with the answer, also while it still sends a body slowly.
func TestAdmit_strangersAreLetGo(t *testing.T) {
	t.Parallel()
	addr, _, _ := remote(t, &fake{query: status}, TCP{}, nil)
	for address, path := range map[string]string{addr: "/v1/messages", serveBus(t, TCP{}, nil).addr: "/messages/send"} {
		for _, request := range []string{
			"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
			"POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nslow",
			"POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer arbiter_x_y\r\nX-Agent-Api-Key: z\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nslow\r\n",
		} {
			c := dialTCP(t, address)
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(c) // until it is closed
			if status, _, _ := strings.Cut(string(said), "\r\n"); err != nil || status != "HTTP/1.1 401 Unauthorized" {
				t.Errorf("%.30q: %q, %v", request, said, err)
			}
			c.Close()
		}
	}
}
