package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/ssot/github/githubtest"
)

// hub starts a GitHub with one repository, ada/journal, and sets HUB to its address: hub DIR. A file named DIR/token holds the token that it
// admits; while there is a file DIR/down it is out of order, and while there is DIR/public everybody may read the repository.
func hub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hub DIR")
	}
	dir := ts.MkAbs(args[0])
	s := githubtest.New(filepath.Join(dir, "repos"))
	repo, err := s.Add("ada", "journal")
	ts.Check(err)
	s.Break(func(*http.Request) *githubtest.Fault {
		token, _ := os.ReadFile(filepath.Join(dir, "token"))
		s.SetToken(strings.TrimSpace(string(token)))
		_, private := os.Stat(filepath.Join(dir, "public"))
		repo.SetPublic(private == nil)
		if _, err := os.Stat(filepath.Join(dir, "down")); err == nil {
			return &githubtest.Fault{Status: http.StatusServiceUnavailable}
		}
		return nil
	})
	web := httptest.NewServer(s)
	ts.Defer(web.Close)
	ts.Setenv("HUB", web.URL)
}
