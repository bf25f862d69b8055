package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tmux is a second terminal, with its own idea of modes, widths and sizes.
type tmux struct {
	t      *testing.T
	socket string
	env    []string
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "tmux", append([]string{"-S", m.socket, "-f", os.DevNull}, args...)...)
	c.Env = m.env
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

// screen waits until the pane shows a text, and returns the pane.
func (m *tmux) screen(want string) string {
	m.t.Helper()
	return m.wait(want, true)
}

// escape leaves an overlay and waits until it is gone: a key right behind the escape would be read as alt and that key.
func (m *tmux) escape(overlay string) {
	m.t.Helper()
	m.do("send-keys", "-t", "a", "Escape")
	m.wait(overlay, false)
}

func (m *tmux) wait(want string, there bool) string {
	m.t.Helper()
	end := time.Now().Add(30 * time.Second)
	for {
		text := m.do("capture-pane", "-p", "-t", "a")
		if strings.Contains(text, want) == there {
			return text
		}
		if time.Now().After(end) {
			m.t.Fatalf("tmux shows %q: %v, want %v:\n%s", want, !there, there, text)
		}
		m.do("wait-for", "-S", "tick") // yields to the server; nothing waits for it
	}
}

func (m *tmux) shows(format, want string) {
	m.t.Helper()
	if got := m.do("display-message", "-p", "-t", "a", format); got != want {
		m.t.Errorf("%s is %q, want %q", format, got, want)
	}
}

// Every screen in tmux, at two sizes and after a change of the size.
func TestTmux(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: the screens were not tried in it")
	}
	d := newSeat(t)
	d.wish(0)
	for _, size := range []struct{ w, h, otherW, otherH string }{{"80", "24", "140", "40"}, {"140", "40", "60", "14"}} {
		m := &tmux{t: t, socket: filepath.Join(d.dir, "tmux-"+size.w), env: d.env}
		m.do("new-session", "-d", "-s", "a", "-x", size.w, "-y", size.h, "sh")
		t.Cleanup(func() { _ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() })
		m.shows("#{alternate_on} #{mouse_any_flag}", "0 0")
		m.do("send-keys", "-t", "a", "exec \""+d.self+"\"", "Enter")
		m.screen("● live")
		m.shows("#{alternate_on} #{mouse_any_flag} #{pane_width}x#{pane_height}", "1 1 "+size.w+"x"+size.h)
		for key, want := range map[string]string{
			"1": "[1 Now", "2": "[2 Tasks", "3": "[3 Inbox", "4": "[4 Plans", "5": "[5 Hist", "6": "[6 Agents", "7": "[7 Err",
		} {
			m.do("send-keys", "-t", "a", key)
			text := m.screen(want)
			rows := strings.Split(text, "\n")
			if !strings.HasPrefix(rows[0], "ARBITER") && !strings.HasPrefix(rows[0], "A ") {
				t.Errorf("screen %s at %sx%s does not begin with the header:\n%s", key, size.w, size.h, text)
			}
		}
		m.do("send-keys", "-t", "a", "?")
		m.screen("Help · ")
		m.escape("Help · ")
		m.do("send-keys", "-t", "a", ":")
		m.screen("Command ")
		m.escape("Command ")
		m.do("send-keys", "-t", "a", "1")
		m.screen("[1 Now")
		m.do("resize-window", "-t", "a", "-x", size.otherW, "-y", size.otherH)
		m.shows("#{pane_width}x#{pane_height}", size.otherW+"x"+size.otherH)
		m.do("send-keys", "-t", "a", "4")
		m.screen("Plans")
		m.do("send-keys", "-t", "a", "C-c")
	}
}
