package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// needs skips a test on a machine that cannot keep the mode.
func needs(t *testing.T, m Mode) {
	t.Helper()
	if _, err := m.Works(); err != nil {
		t.Skipf("NOT TESTED, since %v", err)
	}
}

// opened is a cage that is closed with the test.
func opened(t *testing.T, l Leash) *Cage {
	t.Helper()
	c, err := l.Open(t.Context(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ran is what a shell script did in a cage.
type ran struct {
	out, err string
	exit     int
}

// script runs a shell script in a cage until it ends by itself.
func script(t *testing.T, c *Cage, s Spec, text string, env ...string) ran {
	t.Helper()
	s.Argv, s.Env = []string{"/bin/sh", "-c", text}, env
	p, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var r ran
	errs := make(chan string)
	go func() { b, _ := io.ReadAll(p.Stderr()); errs <- string(b) }()
	out := make(chan string)
	go func() { b, _ := io.ReadAll(p.Stdout()); out <- string(b) }()
	select {
	case <-p.Exited():
	case <-time.After(2 * time.Minute):
		t.Error("it does not end")
	}
	r.exit, err = p.Stop(0)
	if err != nil {
		t.Error(err)
	}
	r.out, r.err = <-out, <-errs
	return r
}

// worktree is a repository with a commit and a worktree of it, which becomes the folder of s.
func worktree(t *testing.T, s *Spec) (repo string) {
	t.Helper()
	repo = filepath.Join(t.TempDir(), "repo")
	sh := `set -e; git init -q -b main "$1"; cd "$1"; echo one >file; git add .
		git -c user.name=a -c user.email=a@b commit -qm one; rmdir "$2"; git worktree add -q -b work "$2"`
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", sh, "sh", repo, s.Dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return repo
}

var confined = []Mode{Bubblewrap, Landlock}

// each runs a test in every mode that confines.
func each(t *testing.T, f func(t *testing.T, m Mode)) {
	for _, m := range confined {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			needs(t, m)
			f(t, m)
		})
	}
}

func TestCage_files(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		s := spec(t, "")
		other := filepath.Join(t.TempDir(), "other")
		seen := filepath.Join(t.TempDir(), "seen")
		open := filepath.Join(t.TempDir(), "open")
		for _, dir := range []string{other, seen, open} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := opened(t, Leash{Mode: m, ReadOnly: []string{seen, "/not/there"}, ReadWrite: []string{open}})
		home, _ := os.UserHomeDir()
		for name, tc := range map[string]struct {
			script string
			ok     bool
		}{
			"write in the folder":     {"echo x >a && mv a b && mkdir d && mv b d/ && rm -r d", true},
			"write in the home":       {`echo x >"$HOME/a" && cat "$HOME/a"`, true},
			"write in TMPDIR":         {`echo x >"$TMPDIR/a"`, true},
			"the system":              {"ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && date >/dev/null", true},
			"devices":                 {"echo x >/dev/null && head -c 8 /dev/urandom >/dev/null && echo x >/dev/shm/arbiter-$$ && rm /dev/shm/arbiter-$$", true},
			"read what is shown":      {"cat " + seen + "/file", true},
			"write what is shown":     {"echo x >>" + seen + "/file", false},
			"write what is open":      {"echo x >>" + open + "/file", true},
			"read another folder":     {"cat " + other + "/file", false},
			"list another folder":     {"ls " + filepath.Dir(other), false},
			"write another folder":    {"echo x >" + other + "/file2", false},
			"cut another file":        {"truncate -s 0 " + other + "/file", false},
			"list the person's home":  {"ls -A " + home + " | grep .", false},
			"write the person's home": {"echo x >" + home + "/arbiter-test", false},
			"write the system":        {"echo x >/usr/arbiter-test", false},
			"write the root":          {"echo x >/arbiter-test", false},
			"read shadow":             {"cat /etc/shadow", false},
			"write /etc":              {"echo x >>/etc/hosts", false},
			"list /var":               {"ls /var/lib | grep .", false},
			"remount":                 {"mount -o remount,rw /usr", false},
			"remount below":           {"unshare -Urm mount -o remount,bind,rw /usr", false},
			"become root of another":  {"unshare -Urm sh -c 'umount /tmp && ls " + other + "/file'", false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := s
				s.Turn += name
				if r := script(t, c, s, tc.script); (r.exit == 0) != tc.ok {
					t.Errorf("exit %d, out %q, err %q", r.exit, r.out, r.err)
				}
			})
		}
		t.Cleanup(func() {
			if b, err := os.ReadFile(filepath.Join(other, "file")); string(b) != "text\n" {
				t.Errorf("the other file holds %q, %v", b, err)
			}
			if b, _ := os.ReadFile(filepath.Join(open, "file")); string(b) != "text\nx\n" {
				t.Errorf("the open file holds %q", b)
			}
		})
	})
}

func TestCage_git(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		s := spec(t, "")
		repo := worktree(t, &s)
		before := tree(t, filepath.Join(repo, ".git", "refs"))
		c := opened(t, Leash{Mode: m})
		r := script(t, c, s, `set -e; echo two >>file; git status --porcelain; git diff --stat; git log --oneline --no-decorate; git rev-parse HEAD >/dev/null`)
		if r.exit != 0 || !strings.Contains(r.out, " M file") || !strings.Contains(r.out, "one") {
			t.Errorf("exit %d, out %q, err %q", r.exit, r.out, r.err)
		}
		for _, cmd := range []string{
			"git add file", "git -c user.name=a -c user.email=a@b commit -qam two", "git update-ref refs/heads/main HEAD^{tree}",
			"git branch other", "git config core.hooksPath /tmp", "git hash-object -w file", "echo x >" + repo + "/.git/HEAD", "rm " + repo + "/file",
		} {
			if r := script(t, c, s, cmd); r.exit == 0 {
				t.Errorf("%s: exit 0, out %q", cmd, r.out)
			}
		}
		if after := tree(t, filepath.Join(repo, ".git", "refs")); after != before {
			t.Errorf("refs are %s, were %s", after, before)
		}
		if m == Landlock { // the .git file is in a folder that may be written to; gitops looks at it after each turn
			return
		}
		for _, cmd := range []string{"echo gitdir: /tmp/x >.git", "rm .git", "mv .git x", "rm -rf .git && mkdir .git", "ln -sf /tmp .git"} {
			if r := script(t, c, s, cmd); r.exit == 0 {
				t.Errorf("%s: exit 0, out %q", cmd, r.out)
			}
		}
	})
}

// A .git file that leads to a repository that does not know the worktree, as an agent could write it, opens nothing.
func TestCage_forgedGit(t *testing.T) {
	t.Parallel()
	needs(t, Bubblewrap)
	s := spec(t, "")
	other := filepath.Join(t.TempDir(), "secret", "worktrees", "x")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(s.Dir, ".git"): "gitdir: " + other + "\n", filepath.Join(other, "commondir"): "../..\n",
		filepath.Join(other, "gitdir"): "/elsewhere/.git\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := opened(t, Leash{Mode: Bubblewrap})
	if r := script(t, c, s, "ls "+other); r.exit == 0 {
		t.Errorf("it sees %q", r.out)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := os.ReadFile(name)
			fmt.Fprintln(&all, name, string(b))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

func TestCage_network(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }))
	t.Cleanup(server.Close)
	each(t, func(t *testing.T, m Mode) {
		s := spec(t, "get")
		c := opened(t, Leash{Mode: m, Model: Model{URL: server.URL}})
		get := func(url string) (string, int) {
			s := s
			s.Argv = append(s.Argv, url)
			p, err := c.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, p.Stderr())
			out, _ := io.ReadAll(p.Stdout())
			exit, err := p.Stop(time.Second)
			if err != nil {
				t.Error(err)
			}
			return string(out), exit
		}
		if out, exit := get(c.URL() + "/x"); exit != 0 || out != "reached" {
			t.Errorf("through the cage: exit %d, %q", exit, out)
		}
		if m == Landlock {
			if found, _ := m.Works(); strings.Contains(found, "not the network") {
				t.Skipf("NOT TESTED on this kernel: %s", found)
			}
		}
		if out, exit := get(server.URL); exit == 0 {
			t.Errorf("around the cage: %q", out)
		}
		if m == Bubblewrap {
			if r := script(t, c, s, "cat /proc/net/dev"); strings.Count(r.out, ":") != 1 || !strings.Contains(r.out, "lo:") {
				t.Errorf("its network is %q", r.out)
			}
		}
	})
}

func TestCage_exit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		c := opened(t, Leash{Mode: m})
		for text, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "exec sh -c 'kill -HUP $$'": 129} {
			s := spec(t, "")
			if r := script(t, c, s, text); r.exit != want {
				t.Errorf("%s: exit %d, want %d; %s", text, r.exit, want, r.err)
			}
		}
	})
}

// A program in a cage can confine its own commands further, also where the coordinator is root.
func TestCage_nested(t *testing.T) {
	t.Parallel()
	if _, err := Bubblewrap.Works(); err != nil {
		t.Skipf("NOT TESTED, since %v", err)
	}
	c := opened(t, Leash{Mode: Bubblewrap})
	if r := script(t, c, spec(t, ""), "bwrap --unshare-all --ro-bind / / --tmpfs /tmp echo inside"); r.out != "inside\n" || r.exit != 0 {
		t.Errorf("out %q, exit %d: %s", r.out, r.exit, r.err)
	}
}

// A program in a cage is asked to end, and ends by itself.
func TestCage_polite(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		p, out := startIn(t, opened(t, Leash{Mode: m}), spec(t, "polite"))
		if line, err := out.ReadString('\n'); line != "ready\n" {
			t.Fatalf("it says %q, %v", line, err)
		}
		rest := make(chan struct{})
		go func() { defer close(rest); io.Copy(io.Discard, out) }()
		if exit, err := p.Stop(time.Minute); exit != 3 || err != nil {
			t.Errorf("exit %d, %v", exit, err)
		}
		<-rest
	})
}

// startIn starts the program in a cage and reads standard error to its end in the background.
func startIn(t *testing.T, c *Cage, s Spec) (*Process, *bufio.Reader) {
	t.Helper()
	p, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(io.Discard, p.Stderr()) }()
	out := bufio.NewReader(p.Stdout())
	t.Cleanup(func() {
		p.Stop(0)
		io.Copy(io.Discard, out)
		<-done
	})
	return p, out
}
