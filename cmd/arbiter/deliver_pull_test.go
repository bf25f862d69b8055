package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/forge"
	"arbiter/ssot/github/githubtest"
)

// forgeServer is a script's GitHub with one repository, tea/till.
type forgeServer struct {
	server *githubtest.Server
	repo   *githubtest.Repository

	mu sync.Mutex
	// kills is at which request the coordinator is to be killed, nil for none.
	kills *killing
}

// killing is a coordinator that is killed at a request, before the request is carried out or after it, without an answer.
type killing struct {
	after        bool
	method, path string
	// lock is the file that the coordinator holds, and that says which process it is.
	lock string
	done chan struct{}
}

// kill ends the coordinator as a power cut does.
func (k *killing) kill() {
	var holder struct {
		PID int `json:"pid"`
	}
	text, err := os.ReadFile(k.lock)
	if err == nil && json.Unmarshal(text, &holder) == nil && holder.PID > 1 {
		_ = syscall.Kill(holder.PID, syscall.SIGKILL)
	}
	close(k.done)
}

// dead waits until it was killed and is gone: its lock is free then.
func (k *killing) dead() error {
	<-k.done
	f, err := os.Open(k.lock)
	if err != nil {
		return err
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// at is what becomes of a request, nil when it is another one.
func (k *killing) at(r *http.Request) *githubtest.Fault {
	if k == nil || r.Method != k.method || !strings.HasSuffix(r.URL.Path, k.path) {
		return nil
	}
	select {
	case <-k.done:
		return &githubtest.Fault{Cut: true} // of who is dead already
	default:
	}
	return &githubtest.Fault{Cut: true, After: k.after, Then: sync.OnceFunc(k.kill)}
}

// startForge starts a GitHub with the repository tea/till, whose main branch is that of a clone here, and sets HUB to its address:
// github CLONE TOKEN. A file named fault says what becomes of the next request that opens a pull request: a status, or else its answer is lost.
func startForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: github CLONE TOKEN")
	}
	f := ts.Value("forge").(*forgeServer)
	f.server = githubtest.New(ts.MkAbs("github"))
	f.server.SetToken(args[1])
	var err error
	f.repo, err = f.server.Add("tea", "till")
	ts.Check(err)
	ts.Check(ts.Exec("git", "-C", ts.MkAbs(args[0]), "push", "-q", f.repo.Dir, "main:main"))
	f.server.Break(func(r *http.Request) *githubtest.Fault {
		f.mu.Lock()
		defer f.mu.Unlock()
		if fault := f.kills.at(r); fault != nil {
			return fault
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pulls") {
			return nil
		}
		file := filepath.Join(ts.MkAbs("."), "fault")
		code, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		_ = os.Remove(file)
		if n, err := strconv.Atoi(strings.TrimSpace(string(code))); err == nil {
			return &githubtest.Fault{Status: n}
		}
		return &githubtest.Fault{Cut: true, After: true}
	})
	web := httptest.NewServer(f.server)
	ts.Defer(web.Close)
	ts.Setenv("HUB", web.URL)
}

// happen lets something happen on the script's GitHub: happen check NAME CONCLUSION, happen review AUTHOR STATE TEXT, happen comment AUTHOR
// TEXT, happen merge BY, happen hook SECRET, happen pulls, which prints them.
func happen(ts *testscript.TestScript, neg bool, args []string) {
	f := ts.Value("forge").(*forgeServer)
	if neg || len(args) == 0 || f.repo == nil {
		ts.Fatalf("usage: happen WHAT...")
	}
	switch args[0] {
	case "check":
		ts.Check(f.repo.Check(ts.Getenv("COMMIT"), args[1], args[2]))
	case "status":
		ts.Check(f.repo.Status(ts.Getenv("COMMIT"), args[1], args[2]))
	case "review":
		ts.Check(f.repo.Review(1, args[1], args[2], args[3]))
	case "comment":
		ts.Check(f.repo.Comment(1, args[1], "", 0, args[2]))
	case "merge":
		ts.Check(f.repo.Merge(1, args[1]))
	case "hook":
		url := ts.Getenv("URL") + "/v1/hooks/github"
		f.repo.Hook(args[1], func(event, delivery, signature string, body []byte) error {
			return deliverHook(url, event, delivery, signature, body)
		})
	case "branches":
		out, err := exec.Command("git", "-C", f.repo.Dir, "for-each-ref", "--format=%(refname:short)", "refs/heads").Output()
		ts.Check(err)
		_, err = fmt.Fprintln(ts.Stdout(), strings.Join(strings.Fields(string(out)), " "), "")
		ts.Check(err)
	case "die":
		f.mu.Lock()
		f.kills = &killing{after: args[1] == "after", method: args[2], path: "/" + args[3], lock: filepath.Join(ts.Getenv("ARBITER_HOME"), "store.lock"), done: make(chan struct{})}
		f.mu.Unlock()
	case "died":
		f.mu.Lock()
		k := f.kills
		f.mu.Unlock()
		ts.Check(k.dead())
		f.mu.Lock()
		f.kills = nil
		f.mu.Unlock()
	case "pulls":
		for _, p := range f.repo.Pulls() {
			_, err := fmt.Fprintf(ts.Stdout(), "#%d %s %s→%s at %s: %s\n%s\n", p.Number, p.State, p.Head, p.Base, p.SHA, p.Title, p.Body)
			ts.Check(err)
		}
		_, err := fmt.Fprintf(ts.Stdout(), "%d pull requests, branch at %s\n", len(f.repo.Pulls()), f.repo.Head("feature/total"))
		ts.Check(err)
	default:
		ts.Fatalf("happen %s?", args[0])
	}
}

func deliverHook(url, event, delivery, signature string, body []byte) error {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	r.Header.Set(forge.SignatureHeader, signature)
	r.Header.Set(forge.EventHeader, event)
	r.Header.Set(forge.DeliveryHeader, delivery)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered %d %s", event, resp.StatusCode, answer)
	}
	return err
}
