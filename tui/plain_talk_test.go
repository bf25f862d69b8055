package tui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/tui/term"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
	"arbiter/tui/ui"
)

// talk is a conversation over a script, in a synctest bubble: after each step everything that can happen has happened.
type talk struct {
	t      testing.TB
	script *tuitest.Script
	plain  *plain
	in     *io.PipeWriter
	stop   chan os.Signal
	ended  chan error
	once   sync.Once

	mu  sync.Mutex // guards out
	out strings.Builder
}

// Write takes what the conversation says.
func (k *talk) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.Write(b)
}

// talking runs f over a conversation at a terminal, and compares all that was said with testdata/golden/plain/<name>.golden; without
// a name it only holds what every conversation holds.
//
// The script is made by build: all that a bubble waits for has to be made in it.
func talking(t *testing.T, name string, build func() *tuitest.Script, f func(k *talk), change ...func(*plainParts, *Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, build(), change...)
		defer k.leave()
		f(k)
		k.leave()
		text := k.text()
		for i, c := range text {
			if c < 0x20 && c != '\n' || c == 0x7f {
				t.Errorf("byte %#x was written, behind %q", c, text[max(i-40, 0):i])
			}
		}
		for i, l := range strings.Split(text, "\n") {
			said, _, _ := strings.Cut(l, " [")
			if n := ui.Width(said); n > 80 {
				t.Errorf("line %d has %d letters: %s", i+1, n, l)
			}
		}
		if name != "" {
			tuitest.GoldenText(t, "plain/"+name, text)
		}
	})
}

func newTalk(t testing.TB, s *tuitest.Script, change ...func(*plainParts, *Config)) *talk {
	r, w := io.Pipe()
	k := &talk{t: t, script: s, in: w, stop: make(chan os.Signal), ended: make(chan error, 1)}
	ids := 0
	with := plainParts{
		parts: parts{now: s.Now, zone: time.UTC, newID: func() string { ids++; return fmt.Sprintf("own-%d", ids) }},
		out:   k, lines: term.NewLines(r), terminal: true, signs: theme.UTF8, width: 80, interrupt: k.stop,
	}
	cfg := Config{Session: s, Admin: "mira", Version: "test"}
	for _, c := range change {
		c(&with, &cfg)
	}
	k.plain = newPlain(t.Context(), cfg, with)
	go func() { k.ended <- k.plain.run() }()
	synctest.Wait()
	return k
}

// says types lines, each a second after the question before it was asked.
func (k *talk) says(lines ...string) *talk {
	k.t.Helper()
	for _, l := range lines {
		k.script.Advance(time.Second)
		k.types(l)
	}
	return k
}

// types types lines at once.
func (k *talk) types(lines ...string) *talk {
	for _, l := range lines {
		_, _ = k.Write([]byte("[" + strings.ToValidUTF8(strings.Map(printable, l), "?") + "]"))
		if k.plain.terminal {
			_, _ = k.Write([]byte("\n"))
		}
		if _, err := io.WriteString(k.in, l+"\n"); err != nil {
			k.t.Fatal(err)
		}
		time.Sleep(5 * batchEvery) // in the bubble: what was sent comes back through the pump
		synctest.Wait()
	}
	return k
}

// printable shows a key that is no text, so that the transcript holds none.
func printable(r rune) rune {
	if r < 0x20 || r == 0x7f {
		return '^'
	}
	return r
}

// choose types the number of the choice that begins with text.
func (k *talk) choose(text string) *talk {
	k.t.Helper()
	for i, w := range k.plain.offered {
		if strings.HasPrefix(w.text, text) {
			return k.says(fmt.Sprint(i + 1))
		}
	}
	k.t.Fatalf("%q is not offered:\n%s", text, k.text())
	return k
}

// waits lets time pass.
func (k *talk) waits(d time.Duration) *talk {
	k.script.Advance(d)
	time.Sleep(d)
	synctest.Wait()
	return k
}

// hears fails unless the conversation has said each of the texts since the last line that was typed.
func (k *talk) hears(texts ...string) *talk {
	k.t.Helper()
	all := k.text()
	since := all[strings.LastIndex(all, "]\n")+1:]
	flat := strings.Join(strings.Fields(since), " ")
	for _, s := range texts {
		if !strings.Contains(flat, s) {
			k.t.Errorf("%q was not said:\n%s", s, since)
		}
	}
	return k
}

func (k *talk) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.out.String()
}

// interrupts is control c.
func (k *talk) interrupts() *talk {
	k.stop <- os.Interrupt
	synctest.Wait()
	return k
}

// leave ends the conversation and its input.
func (k *talk) leave() {
	k.once.Do(func() {
		_ = k.in.Close()
		if err := <-k.ended; err != nil {
			k.t.Errorf("the conversation ended with %v", err)
		}
	})
}

func (k *talk) sent(want string) *talk {
	k.t.Helper()
	var names []string
	for _, c := range k.script.Sent() {
		names = append(names, string(c.Command))
	}
	if got := strings.Join(names, " "); got != want {
		k.t.Errorf("commands = %q, want %q\n%s", got, want, k.text())
	}
	return k
}
