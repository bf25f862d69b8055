package forge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot/github/githubtest"
)

// hub is a GitHub with a/b, which has main and the branch f, and a client of it.
func hub(t *testing.T) (*githubtest.Server, *githubtest.Repository, *Client, string) {
	t.Helper()
	s := githubtest.New(t.TempDir())
	repo, err := s.Add("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Commit("main", "first", map[string][]byte{"x": []byte("1")}); err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit("f", "work", map[string][]byte{"x": []byte("2")})
	if err != nil {
		t.Fatal(err)
	}
	s.SetToken("secret-token")
	c, err := New(Config{URL: "http://127.0.0.1:1/", Transport: s.Transport(), Token: func(context.Context) (string, error) { return "secret-token", nil }})
	if err != nil {
		t.Fatal(err)
	}
	return s, repo, c, commit
}

// opens opens the pull request of f as a delivery does.
func opens(t *testing.T, c *Client, commit string) (state amp.PullState, err error) {
	err = c.Try(t.Context(), "a/b", func(ctx context.Context) error {
		if _, err := c.Token(ctx); err != nil {
			return err
		}
		state, err = c.Open(ctx, "a/b", "f", commit, "main", "title", "body")
		return err
	})
	return state, err
}

// What GitHub does to a request, the pull request is opened once, or not at all with the reason; and the waits are those that it asks for.
func TestOpen_faults(t *testing.T) {
	t.Parallel()
	const many = 1000
	for name, x := range map[string]struct {
		fault    githubtest.Fault
		times    int
		at, most time.Duration
		gaveUp   string
	}{
		"well":               {times: 0, most: 2 * time.Second},
		"500 twice":          {fault: githubtest.Fault{Status: 500}, times: 2, at: 6 * time.Second, most: 10 * time.Second},
		"lost answer":        {fault: githubtest.Fault{Cut: true, After: true}, times: 1, at: 2 * time.Second, most: 5 * time.Second},
		"answer too late":    {fault: githubtest.Fault{After: true, Delay: time.Hour}, times: 1, at: 2 * time.Minute, most: 3 * time.Minute},
		"cut":                {fault: githubtest.Fault{Cut: true}, times: 3, at: 14 * time.Second, most: 20 * time.Second},
		"429":                {fault: githubtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"90"}}}, times: 1, at: 90 * time.Second, most: 95 * time.Second},
		"secondary limit":    {fault: githubtest.Fault{Status: 403, Header: http.Header{"Retry-After": {"30"}}}, times: 1, at: 30 * time.Second, most: 35 * time.Second},
		"an hour":            {fault: githubtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"3600"}}}, times: many, most: time.Minute, gaveUp: "try again after 1h"},
		"down":               {fault: githubtest.Fault{Status: 503}, times: many, at: 8 * time.Minute, most: 11 * time.Minute, gaveUp: "It was tried for"},
		"wrong token":        {fault: githubtest.Fault{Status: 401}, times: many, most: time.Second, gaveUp: "does not accept the token"},
		"no right":           {fault: githubtest.Fault{Status: 403, Message: "Resource not accessible"}, times: many, most: time.Second, gaveUp: "Pull requests: read and write"},
		"no such repository": {fault: githubtest.Fault{Status: 404}, times: many, most: time.Second, gaveUp: "there is no repository a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, repo, c, commit := hub(t)
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s.Break(func(r *http.Request) *githubtest.Fault {
					if n == x.times || r.Method != http.MethodPost && x.times < many {
						return nil
					}
					n++
					f := x.fault
					return &f
				})
				begin := time.Now()
				p, err := opens(t, c, commit)
				if took := time.Since(begin); took < x.at || took > x.most {
					t.Errorf("it took %v, want %v to %v", took, x.at, x.most)
				}
				if x.gaveUp != "" {
					if e, ok := errors.AsType[*GiveUpError](err); !ok || !strings.Contains(e.Error(), x.gaveUp) || strings.Contains(e.Error(), "secret-token") {
						t.Errorf("error %v", err)
					}
					return
				}
				if err != nil || p.Number != 1 || p.State != amp.PullOpen || p.Repo != "a/b" {
					t.Fatalf("%+v %v", p, err)
				}
				if again, err := opens(t, c, commit); err != nil || again.Number != 1 || len(repo.Pulls()) != 1 {
					t.Errorf("again it is %+v, of %d: %v", again, len(repo.Pulls()), err)
				}
			})
		})
	}
}

// The list of pull requests can be behind what was opened a moment ago: the request is waited for, and not opened a second time.
func TestOpen_unlisted(t *testing.T) {
	t.Parallel()
	s, repo, c, commit := hub(t)
	synctest.Test(t, func(t *testing.T) {
		opened, asked := false, 0
		s.Break(func(r *http.Request) *githubtest.Fault {
			switch {
			case r.Method == http.MethodPost && !opened:
				opened = true
				return &githubtest.Fault{Cut: true, After: true}
			case r.Method == http.MethodGet && opened && asked < 4:
				asked++
				r.URL.RawQuery = "head=a:none"
			}
			return nil
		})
		p, err := opens(t, c, commit)
		if err != nil || p.Number != 1 || len(repo.Pulls()) != 1 || asked != 4 {
			t.Errorf("%+v of %d, asked %d times: %v", p, len(repo.Pulls()), asked, err)
		}
	})
}

// A token that is changed in the middle of a delivery is taken at once; one that was revoked ends it, and says so without the token.
func TestOpen_token(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"rotated": "ghp-the-next", "revoked": "secret-token"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, repo, c, commit := hub(t)
			token, asked := "secret-token", 0
			c.cfg.Token = func(context.Context) (string, error) { asked++; return token, nil }
			synctest.Test(t, func(t *testing.T) {
				changed := false
				s.Break(func(r *http.Request) *githubtest.Fault {
					if r.Method == http.MethodPost && !changed {
						changed, token = true, next
						s.SetToken("ghp-the-next")
					}
					return nil
				})
				p, err := opens(t, c, commit)
				if name == "rotated" {
					if err != nil || p.Number != 1 || len(repo.Pulls()) != 1 {
						t.Errorf("%+v of %d: %v", p, len(repo.Pulls()), err)
					}
					return
				}
				gave, ok := errors.AsType[*GiveUpError](err)
				if !ok || gave.Why != "GitHub does not accept the token" || strings.Contains(err.Error(), token) || len(repo.Pulls()) != 0 || asked > 3 {
					t.Errorf("%v, asked %d times", err, asked)
				}
			})
		})
	}
}

// A pull request that was merged at the commit is found; one that was closed is not, and a new one is opened.
func TestOpen_ended(t *testing.T) {
	t.Parallel()
	_, repo, c, commit := hub(t)
	if _, err := opens(t, c, commit); err != nil {
		t.Fatal(err)
	}
	if err := repo.Merge(1, ""); err != nil {
		t.Fatal(err)
	}
	if p, err := opens(t, c, commit); err != nil || p.Number != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	if err := repo.Merge(2, "mira"); err != nil {
		t.Fatal(err)
	}
	if p, err := opens(t, c, commit); err != nil || p.Number != 2 || p.State != amp.PullMerged {
		t.Errorf("%+v %v", p, err)
	}
}

// What is asked for has the same id as long as it is the same, and costs nothing while nothing changes.
func TestLook(t *testing.T) {
	t.Parallel()
	s, repo, c, commit := hub(t)
	at, err := opens(t, c, commit)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		repo.Check(commit, "build", ""), repo.Status(commit, "style", "success"), repo.Review(1, "ann", "APPROVED", "good"),
		repo.Comment(1, "bob", "x", 3, "why"), repo.Comment(1, "eve", "", 0, "hm"),
	); err != nil {
		t.Fatal(err)
	}
	look := func() map[string]amp.Outside {
		all, err := c.Look(t.Context(), at, commit)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]amp.Outside{}
		for _, o := range all {
			found[o.Delivery] = o
		}
		return found
	}
	first := look()
	if len(first) != 5 {
		t.Fatalf("%d reports: %v", len(first), first)
	}
	s.Forget()
	for id := range look() {
		if _, known := first[id]; !known {
			t.Errorf("%s is new", id)
		}
	}
	for _, r := range s.Requests() {
		if r.Status != http.StatusNotModified {
			t.Errorf("%s %s was answered %d: it costs of the limit", r.Method, r.Path, r.Status)
		}
	}
	if err := errors.Join(repo.Check(commit, "build", "failure"), repo.Merge(1, "mira")); err != nil {
		t.Fatal(err)
	}
	var states []string
	for id, o := range look() {
		if _, known := first[id]; !known {
			states = append(states, o.Line())
		}
	}
	if text := strings.Join(states, "\n"); len(states) != 2 || !strings.Contains(text, "check github/build failed") || !strings.Contains(text, "a/b#1 merged by mira") {
		t.Errorf("new: %s", text)
	}
}

func TestRepoOf(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://github.com/tea/till.git": "tea/till", "https://github.com/tea/till": "tea/till", "git@github.com:tea/till.git": "tea/till",
		"ssh://git@github.com/tea/till.git": "tea/till", "ssh://git@github.com:22/tea/till.git": "tea/till", "https://github.com/tea/till/": "tea/till",
		"https://evil.example/tea/till.git": "", "git@evil.example:tea/till": "", "/srv/git/till.git": "", "https://github.com/till": "",
		"https://github.com/a/b/c": "", "https://github.com.evil.example/a/b": "", "": "", "file:///a/b": "",
	} {
		c, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.RepoOf(remote); got != want || (err == nil) != (want != "") {
			t.Errorf("RepoOf(%q) = %q, %v", remote, got, err)
		}
	}
	c, err := New(Config{URL: "https://git.corp.example/api/v3"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.PushURL("a/b"); got != "https://git.corp.example/a/b.git" {
		t.Error(got)
	}
}

// Words of agents mention nobody, close nothing, end no block and do not grow without end.
func TestBody(t *testing.T) {
	t.Parallel()
	hostile := "fix @everyone closes #1\n~~~~\n# Approved\n<script>\x1b[2J `code` | x"
	yes := true
	d := &amp.PullDraft{
		TaskID: "T-2026-001", By: "mira", Title: "a\nb", Plan: &amp.Plan{Revision: 2, RiskLevel: amp.Low, Hash: "abc", Description: hostile, AcceptanceCriteria: []string{hostile}},
		Approval: &amp.Approval{By: "mira", Seq: 7}, Claims: []amp.Claim{{Name: "commit", Finding: amp.Confirmed, Found: hostile}},
		CI: map[string]string{"local": "passed"}, VerdictSeq: 9,
		Verdict: &amp.Verdict{Decision: amp.Approved, Confidence: 0.9, CriteriaResults: []amp.CriterionResult{{Criterion: hostile, Passed: &yes, Evidence: hostile}}},
	}
	if Title(d) != "a b" {
		t.Error(Title(d))
	}
	body := Body(d)
	fence := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(line, "~~~~"):
			fence = strings.TrimSuffix(line, "text")
		case fence != "" && line == fence:
			fence = ""
		case fence == "" && strings.Contains(line, "@everyone"):
			if rest := strings.Split(line, "`"); len(rest)%2 == 0 || strings.Contains(strings.Join(everySecond(rest), ""), "@") {
				t.Errorf("outside of code: %s", line)
			}
		case fence == "" && line == "# Approved":
			t.Error("a heading of an agent")
		}
	}
	if fence != "" || strings.Contains(body, "\x1b") || !strings.Contains(body, "approved by `mira` as entry 7") {
		t.Errorf("fence %q in\n%s", fence, body)
	}
	for range 2000 {
		d.Claims = append(d.Claims, amp.Claim{Name: "x", Found: strings.Repeat("é`", 4000)})
		d.Plan.AcceptanceCriteria = append(d.Plan.AcceptanceCriteria, strings.Repeat("~", 4000))
	}
	if n := len(Body(d)); n > 65_000 {
		t.Errorf("%d bytes", n)
	}
}

// everySecond are the parts of a line that stand outside of its code.
func everySecond(parts []string) (out []string) {
	for i := 0; i < len(parts); i += 2 {
		out = append(out, parts[i])
	}
	return out
}

// A pull request of the branch into another base, open or merged, is not the delivery.
func TestOpen_otherBase(t *testing.T) {
	t.Parallel()
	_, repo, c, commit := hub(t)
	commits := map[string]string{"f": commit}
	for _, branch := range []string{"release", "g"} {
		made, err := repo.Commit(branch, "first", map[string][]byte{"x": []byte(branch)})
		if err != nil {
			t.Fatal(err)
		}
		commits[branch] = made
	}
	if _, err := c.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for n, end := range []func(int) error{func(int) error { return nil }, func(n int) error { return repo.Merge(n, "mira") }} {
			branch := []string{"f", "g"}[n]
			other, err := c.Open(t.Context(), "a/b", branch, commits[branch], "release", "not this", "body")
			if err == nil {
				err = end(other.Number)
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Open(t.Context(), "a/b", branch, commits[branch], "main", "title", "body")
			if all := repo.Pulls(); err != nil || p.Number == other.Number || all[p.Number-1].Base != "main" {
				t.Fatalf("%s: %+v %v", branch, p, err)
			}
		}
	})
}
