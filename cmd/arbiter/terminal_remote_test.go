package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"arbiter/server/tlstest"
)

// remote is a seat on another machine: it has nothing of the coordinator's but its address, a token and the authority to trust.
func (d *seat) remote(t *testing.T, cert, admin string) *seat {
	t.Helper()
	var status statusReport
	if err := json.Unmarshal([]byte(d.output("status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	token := d.output("token", "new", admin, "--role", "admin")
	away := &seat{t: t, self: d.self, dir: t.TempDir()}
	away.env = slices.DeleteFunc(slices.Clone(d.env), func(s string) bool { return strings.Contains(s, d.dir) })
	away.env = append(
		away.env, "HOME="+away.dir, "ARBITER_URL=https://"+status.Coordinator.Listen, "ARBITER_TOKEN="+strings.TrimSpace(token),
		"SSL_CERT_FILE="+cert,
	)
	return away
}

// An admin at another machine sees the same screens and decides in their own name.
func TestTerminal_remote(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	cert, key := tlstest.SelfSigned(t, "arbiter.test")
	d.env = append(d.env, "ARBITER_LISTEN_TCP=127.0.0.1:0")
	d.arbiter("--set", "policy.undo=1ms", "--set", "listen.tls_cert="+cert, "--set", "listen.tls_key="+key, "up")
	d.wish(0)
	away := d.remote(t, cert, "Ada Byron")
	p := away.open(120, 40).WaitFor("Bills count quantities").WaitFor("◇").WaitFor("you: Ada Byron").WaitFor("127.0.0.1:")
	p.Press("4").WaitFor("[4 Plans")
	p.Press("enter").WaitFor("Contract")
	p.Press("A").WaitFor("Approve T-2026-001 r1?").WaitFor("armed ●")
	p.Press("tab", "enter").WaitFor("✓ approved")
	p.Press("ctrl+c")
	_ = p.Exit()
	givenBack(t, p)
	if out := d.output("journal", "search", "--kind", "command", "--limit", "1"); !strings.Contains(out, "approve") || !strings.Contains(out, "Ada Byron") {
		t.Errorf("the last command of the journal is %s", out)
	}
}
