package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/forge"
	"arbiter/ssot/github/githubtest"
)

// forgeServer is a script's GitHub with one repository, tea/till.
type forgeServer struct {
	server *githubtest.Server
	repo   *githubtest.Repository
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
