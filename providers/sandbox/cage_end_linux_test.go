package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inCage are the processes of this machine that carry the mark of a turn.
func inCage(t *testing.T, turn string) (pids []int) {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for _, pr := range all {
		if value, err := mark(pr.pid); err == nil && marked(value, turn) && !pr.zombie {
			pids = append(pids, pr.pid)
		}
	}
	return pids
}

// Daemons that left the session, lost their parent and forgot their environment end with the program, and are seen to.
func TestCage_daemons(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		for _, what := range []string{"daemons", "daemon", "daemon-clean", "daemon-headless", "stubborn"} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				s := spec(t, what)
				p, out := startIn(t, opened(t, Leash{Mode: m}), s)
				said := make(chan bool)
				go func() {
					defer close(said)
					for {
						line, err := out.ReadString('\n')
						if err != nil || line == "ready\n" {
							return
						}
					}
				}()
				<-said
				before := inCage(t, s.Turn)
				if what == "stubborn" && len(before) < 1 {
					t.Error("nothing runs")
				}
				start := map[int]uint64{}
				for _, pid := range before {
					start[pid], _ = StartTime(pid)
				}
				if _, err := p.Stop(0); err != nil {
					t.Error(err)
				}
				for pid, at := range start {
					if at != 0 && !Gone(pid, at) {
						t.Errorf("process %d of %d is left", pid, len(before))
					}
				}
				if after := inCage(t, s.Turn); len(after) > 0 {
					t.Errorf("%v are left", after)
				}
			})
		}
	})
}

// What no marker, session, folder or pipe shows ends with the namespace.
func TestCage_hiddenDaemon(t *testing.T) {
	t.Parallel()
	needs(t, Bubblewrap)
	s := spec(t, "")
	c := opened(t, Leash{Mode: Bubblewrap})
	stamp := filepath.Join(s.Dir, "beat")
	script(t, c, s, `cd / && (setsid env -i /bin/sh -c 'while :; do echo >>`+stamp+`; done' </dev/null >/dev/null 2>&1 &)
		while ! [ -s `+stamp+` ]; do :; done`)
	first, err := os.Stat(stamp)
	if err != nil {
		t.Fatal(err)
	}
	script(t, c, spec(t, ""), "exit 0") // time in which it would write on
	if now, err := os.Stat(stamp); err != nil || now.Size() != first.Size() {
		t.Errorf("the daemon writes on: %v", err)
	}
}

func TestCage_talk(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		s := spec(t, "echo")
		s.Talk, s.Stdin = true, []byte("one\n")
		p, out := startIn(t, opened(t, Leash{Mode: m}), s)
		for _, want := range []string{"one", "two", "three"} {
			if line, err := out.ReadString('\n'); line != "heard "+want+"\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if want != "three" {
				p.Send([]byte(map[string]string{"one": "two\n", "two": "three\n"}[want]))
			}
		}
		p.CloseInput()
		<-p.Exited()
		if exit, err := p.Stop(0); exit != 4 || err != nil {
			t.Errorf("exit %d, %v", exit, err)
		}
		if !p.StdinTaken() {
			t.Error("its input is not taken")
		}
	})
}

func TestCage_output(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		p, out := startIn(t, opened(t, Leash{Mode: m}), spec(t, "pour"))
		n, err := io.Copy(io.Discard, out)
		if n != 64<<20 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if exit, err := p.Stop(time.Minute); exit != 5 || err != nil {
			t.Errorf("exit %d, %v", exit, err)
		}
	})
}

func TestCage_limits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		c := opened(t, Leash{Mode: m})
		s := spec(t, "")
		s.Limits = Limits{FileSize: 1 << 20, OpenFiles: 64, CPU: time.Minute}
		if r := script(t, c, s, "ulimit -n; ulimit -t; head -c 2000000 /dev/zero >big"); r.exit == 0 || !strings.HasPrefix(r.out, "64\n60\n") {
			t.Errorf("exit %d, out %q, err %q", r.exit, r.out, r.err)
		}
		if info, err := os.Stat(filepath.Join(s.Dir, "big")); err != nil || info.Size() > 1<<20 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

func TestCage_forks(t *testing.T) {
	t.Parallel()
	needs(t, Bubblewrap)
	if os.Getuid() == 0 {
		t.Skip("NOT TESTED as root, which the kernel does not bound")
	}
	s := spec(t, "")
	s.Limits.Processes = 40
	r := script(t, opened(t, Leash{Mode: Bubblewrap}), s, `i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; echo all`)
	if strings.Contains(r.out, "all") {
		t.Errorf("it started 200 processes; exit %d, err %.300q", r.exit, r.err)
	}
}

func TestCage_environ(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		plain, caged := spec(t, "environ"), spec(t, "environ")
		caged.Dir, caged.Home, caged.Turn = plain.Dir, plain.Home, plain.Turn
		read := func(c *Cage, s Spec) []string {
			p, out := startIn(t, c, s)
			b, _ := io.ReadAll(out)
			if exit, err := p.Stop(time.Minute); exit != 0 || err != nil {
				t.Fatalf("exit %d, %v", exit, err)
			}
			var vars []string
			for line := range strings.Lines(string(b)) {
				if !strings.HasPrefix(line, "PWD=") && !strings.HasPrefix(line, "OLDPWD=") && !strings.HasPrefix(line, "SHLVL=") && !strings.HasPrefix(line, "_=") {
					vars = append(vars, line)
				}
			}
			slices.Sort(vars)
			return vars
		}
		if diff := cmp.Diff(read(opened(t, Leash{}), plain), read(opened(t, Leash{Mode: m}), caged)); diff != "" {
			t.Errorf("the environment in the cage is another (-without +with):\n%s", diff)
		}
	})
}

// A cage leaves no dead process behind that nobody takes.
func TestCage_reaped(t *testing.T) {
	t.Parallel()
	needs(t, Bubblewrap)
	c, s := opened(t, Leash{Mode: Bubblewrap}), spec(t, "")
	p, out := startIn(t, c, func() Spec { s.Argv = []string{"/bin/sh", "-c", "echo here; read x"}; s.Talk = true; return s }())
	if line, err := out.ReadString('\n'); line != "here\n" {
		t.Fatal(line, err)
	}
	first := inCage(t, s.Turn)
	p.CloseInput()
	<-p.Exited()
	if _, err := p.Stop(0); err != nil {
		t.Error(err)
	}
	for _, pid := range first {
		if pr, err := inspect(pid); err == nil && pr.zombie {
			t.Errorf("%s (%d) is dead and not taken", pr.name, pid)
		}
	}
}
