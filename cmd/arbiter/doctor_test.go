package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot/sqlite"
	"arbiter/ssot/ssottest"
)

// doctorBench is where doctor is run: a data directory, a configuration that is good until the case breaks it, and a folder to stand in.
type doctorBench struct{ home, file, here string }

func (b doctorBench) add(t *testing.T, text string) {
	t.Helper()
	f, err := os.OpenFile(b.file, os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// Whatever is wrong with a place has one line with what it is, and the next step, and the exit code says whether anything has to be mended.
func TestDoctor_places(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, tc := range map[string]struct {
		breaks     func(t *testing.T, b doctorBench)
		code       int
		line, next string // of the finding and of its next step
	}{
		"good": {func(*testing.T, doctorBench) {}, 0, `ok +repository +\S+/here$`, ""},
		"no repository": {
			func(t *testing.T, b doctorBench) { t.Chdir(b.home) },
			0, `ok +repository +this folder is in none`, "",
		},
		"a bare repository": {
			func(t *testing.T, b doctorBench) {
				git(t, "init", "-q", "--bare", b.here+"/../bare")
				t.Chdir(b.here + "/../bare")
			},
			0, `warn +repository +.*is a bare repository`, "Work in another one",
		},
		"no commit": {
			func(t *testing.T, b doctorBench) {
				git(t, "init", "-q", b.here+"/../empty")
				t.Chdir(b.here + "/../empty")
			},
			0, `warn +repository +.*it has no commits yet`, "Work in another one",
		},
		"a shallow clone": {
			func(t *testing.T, b doctorBench) {
				git(t, "clone", "-q", "--depth", "1", "file://"+b.here, b.here+"/../shallow")
				t.Chdir(b.here + "/../shallow")
			},
			0, `warn +repository +\S+/shallow is a shallow clone`, "git fetch --unshallow",
		},
		"the configuration is a folder": {
			func(t *testing.T, b doctorBench) {
				if err := os.Remove(b.file); err != nil || os.Mkdir(b.file, 0o700) != nil {
					t.Fatal(err)
				}
			},
			1, `fail +configuration +.*is a directory`, "Name a file",
		},
		"the data directory is a file": {
			func(t *testing.T, b doctorBench) { t.Setenv("ARBITER_HOME", b.file) },
			1, `fail +data directory +.*not a directory`, "Name a folder",
		},
		"something in the place of the socket": {
			func(t *testing.T, b doctorBench) {
				if err := os.MkdirAll(filepath.Join(b.home, "arbiter.sock"), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			1, `fail +coordinator +.*arbiter.sock is there and is no socket`, "Move it away",
		},
		"a journal from the future": {
			func(t *testing.T, b doctorBench) {
				log, err := sqlite.Open(t.Context(), b.home, sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				r := ssottest.Submit("c1", ssottest.Task(1))
				r.At = time.Now().Add(48 * time.Hour)
				if _, err := log.Append(t.Context(), []amp.Record{r}); err != nil || log.Close() != nil {
					t.Fatal(err)
				}
			},
			0, `warn +clock +the newest entry was written 1d 23h from now|warn +clock +the newest entry was written .* later than now`, "Set the clock",
		},
		"no token of GitHub": {
			func(t *testing.T, b doctorBench) {
				b.add(t, "[github]\nrepo = \"a/b\"\ntoken_env = \"NO_SUCH_THING\"\n")
			},
			1, `fail +secret +pull requests on GitHub: the variable NO_SUCH_THING is not set`, "Set it",
		},
		"no secret of a webhook": {
			func(t *testing.T, b doctorBench) {
				b.add(t, "[[events.webhooks]]\nname = \"ops\"\nurl = \"http://127.0.0.1/\"\nsecret_env = \"NO_SUCH_THING\"\n")
			},
			1, `fail +events +the variable NO_SUCH_THING, the secret of the webhook ops, is not set`, "export NO_SUCH_THING",
		},
		"no key of an agent's model": {
			func(t *testing.T, b doctorBench) {
				b.add(t, "[agents.keyed]\nkind = \"command\"\nargv = [\"/bin/sh\"]\nurl = \"http://127.0.0.1:9/v1\"\nkey_env = \"NO_SUCH_THING\"\n")
			},
			1, `fail +agent keyed +/bin/sh: the variable NO_SUCH_THING is not set`, "export NO_SUCH_THING=…, or correct agents.keyed.key_env",
		},
		"no checks": {func(*testing.T, doctorBench) {}, 0, `warn +local CI +no checks are configured, neither`, "arbiter init --repo DIR"},
		"checks of the repository": {
			func(t *testing.T, b doctorBench) {
				if err := os.WriteFile(filepath.Join(b.here, repoFile), []byte("[repo]\nchecks = [[\"true\"]]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			0, `ok +arbiter.toml`, "",
		},
		"a script without its path": {
			func(t *testing.T, b doctorBench) {
				b.add(t, "[agents.snake]\nkind = \"command\"\nargv = [\"/bin/sh\", \"worker.sh\"]\n")
			},
			0, `warn +agent snake +/bin/sh worker.sh: the script is looked for in the folder of each turn`, "give its full path in agents.snake.argv",
		},
		"an open address without TLS": {
			func(t *testing.T, b doctorBench) { b.add(t, "[listen]\ntcp = \"0.0.0.0:0\"\n") },
			1, `fail +listen +listen.tcp is 0.0.0.0:0, which other machines reach`, "Set tls_cert",
		},
		"a taken address": {
			func(t *testing.T, b doctorBench) { b.add(t, "[listen]\ntcp = \""+busy.Addr().String()+"\"\n") },
			1, `fail +listen +.*address already in use`, "Set another port as listen.tcp",
		},
		"a free address": {
			func(t *testing.T, b doctorBench) { b.add(t, "[listen]\ntcp = \"127.0.0.1:0\"\n") },
			0, `ok +listen +127.0.0.1:0`, "",
		},
		"a lock of a dead process": {
			func(t *testing.T, b doctorBench) {
				text := `{"pid":4194303,"host":"elsewhere","started":"2026-01-01T00:00:00Z","work":"arbiter demo"}`
				if err := os.WriteFile(filepath.Join(b.home, "store.lock"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			0, `ok +coordinator +does not run; arbiter up starts it`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := doctorBench{home: filepath.Join(dir, "home"), file: filepath.Join(dir, "config.toml"), here: filepath.Join(dir, "here")}
			for _, d := range []string{b.home, b.here} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			good := "[agents.any]\nkind = \"external\"\n[roles]\ncoordinator = \"any\"\nexecutor = \"any\"\nreviewer = \"any\"\n"
			if err := os.WriteFile(b.file, []byte(good), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("ARBITER_HOME", b.home)
			t.Setenv("ARBITER_CONFIG", b.file)
			t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			git(t, "init", "-q", b.here)
			git(t, "-C", b.here, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first")
			git(t, "-C", b.here, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "second")
			t.Chdir(b.here)
			tc.breaks(t, b)
			code, stdout, stderr := arbiter(t, "", "doctor")
			lines := strings.Split(stdout, "\n")
			found := false
			for i, line := range lines {
				if regexp.MustCompile(tc.line).MatchString(line) {
					found = tc.next == "" || i+1 < len(lines) && strings.Contains(lines[i+1], "→ ") && strings.Contains(lines[i+1], tc.next)
				}
			}
			if code != tc.code || !found || strings.Contains(stdout, "run arbiter doctor") ||
				name == "checks of the repository" && strings.Contains(stdout, "local CI") {
				t.Errorf("code %d, want %d, a line %q and the step %q:\n%s%s", code, tc.code, tc.line, tc.next, stdout, stderr)
			}
		})
	}
}

// What belongs to somebody else is said to: a data directory of another user is no matter of its mode.
func TestExplain_owner(t *testing.T) {
	t.Parallel()
	path := "/"
	if os.Getuid() == 0 {
		path = t.TempDir()
		if err := os.Chown(path, 65534, -1); err != nil {
			t.Skip("SKIPPED: files cannot be given away here")
		}
	}
	e := explain(&fs.PathError{Op: "open", Path: filepath.Join(path, "not-there", "x"), Err: syscall.EACCES})
	if !strings.Contains(e.Means, path+" belongs to ") || !strings.Contains(e.Means, "and you are "+osUser()) {
		t.Errorf("it means: %s", e.Means)
	}
	own := explain(&fs.PathError{Op: "open", Path: t.TempDir(), Err: syscall.EACCES})
	if strings.Contains(own.Means, "belongs to") {
		t.Errorf("of one's own it means: %s", own.Means)
	}
}
