package server

import (
	"context"
	"net"
	"os"
	"os/user"
	"strconv"
)

// peer is who asks: at the other end of a socket as the kernel says, over TCP as the token says. known is false where nobody can
// tell.
type peer struct {
	known bool
	uid   int
	pid   int
	name  string
	// addr is where a peer over TCP comes from, scope what its token allows; both are "" on a socket.
	addr  string
	scope Scope
	token string
}

// remote reports whether the peer came over TCP.
func (p peer) remote() bool { return p.addr != "" }

type peerKey struct{}

// withPeer notes on a connection's context who made it.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p := peer{}
	if u, ok := c.(*net.UnixConn); ok {
		p = credentials(u)
	}
	if _, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		p.addr = hostOf(c.RemoteAddr())
	}
	if p.known {
		p.name = userName(p.uid)
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) peer {
	p, _ := ctx.Value(peerKey{}).(peer)
	return p
}

// admitted reports whether the peer is the user of this process, or root.
func (p peer) admitted() bool { return !p.known || p.uid == os.Getuid() || p.uid == 0 }

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid-" + strconv.Itoa(uid)
}
