package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"arbiter/amp"
)

// PublicAPI is where GitHub itself answers.
const PublicAPI = "https://api.github.com/"

const (
	firstWait = 2 * time.Second
	// maxWait bounds the time until an outage is tried again.
	maxWait = time.Minute
	// Patience is how long a pull request is tried at all.
	Patience = 10 * time.Minute
)

// Config is how a Client reaches GitHub.
type Config struct {
	// URL is where the API answers; empty is GitHub's own.
	URL string
	// Token is asked for before each work. It is never kept, and never in an error.
	Token     func(ctx context.Context) (string, error)
	Transport http.RoundTripper
	Logger    *slog.Logger
}

// Client makes and reads pull requests. It is safe for concurrent use.
type Client struct {
	cfg    Config
	base   *url.URL
	http   *Transport
	client *gh.Client
}

// New checks an address; it asks nothing.
func New(cfg Config) (*Client, error) {
	if cfg.URL == "" {
		cfg.URL = PublicAPI
	}
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is no address of an API, as %s", cfg.URL, PublicAPI)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Transport{Base: cfg.Transport, Origin: Origin(base), Gap: time.Second, Tags: 512}
	c := &Client{cfg: cfg, base: base, http: t, client: gh.NewClient(t.Client())}
	c.client.BaseURL, c.client.UserAgent = base, "arbiter"
	return c, nil
}

// Token is the token of now.
func (c *Client) Token(ctx context.Context) (string, error) {
	token, err := c.cfg.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("there is no token for GitHub: %w", err)
	}
	c.http.SetToken(token)
	return token, nil
}

// web is where repositories are: beside the API.
func (c *Client) web() url.URL {
	u := url.URL{Scheme: c.base.Scheme, Host: c.base.Host}
	if u.Host == "api.github.com" {
		u.Host = "github.com"
	}
	return u
}

// PushURL is where the commits of a repository, owner/name, are pushed to.
func (c *Client) PushURL(repo string) string {
	u := c.web()
	u.Path = "/" + repo + ".git"
	return u.String()
}

// RepoOf is the owner/name that a git remote's address means, or why it means none there.
func (c *Client) RepoOf(remote string) (string, error) {
	host, path := "", ""
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Host, u.Path
		if u.Scheme == "ssh" {
			host = u.Hostname()
		}
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.Contains(before, "/") {
		_, host, _ = strings.Cut(before, "@")
		path = after
	}
	web := c.web()
	if want := web.Host; host != want && host != web.Hostname() {
		return "", fmt.Errorf("the remote is not at %s", want)
	}
	owner, name, ok := strings.Cut(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", errors.New("the remote's address has no owner/name")
	}
	return owner + "/" + name, nil
}

// GiveUpError says why there is no pull request, and what a person can do about it.
type GiveUpError struct{ Why, Next string }

// Error is both.
func (e *GiveUpError) Error() string { return e.Why + ". " + e.Next }

// Try repeats a work while GitHub is out of order or asks for a pause, for [Patience] in all. What only a person can mend ends it at once,
// as a [*GiveUpError].
func (c *Client) Try(ctx context.Context, repo string, work func(context.Context) error) error {
	begin := time.Now()
	for n := 0; ; n++ {
		err := work(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		gaveUp, wait := judgeTry(err, repo, n)
		if gaveUp != nil && c.rotated(ctx) {
			gaveUp, wait = nil, firstWait
		}
		if gaveUp == nil && time.Since(begin)+wait > Patience {
			gaveUp = &GiveUpError{Why: Plain(err), Next: fmt.Sprintf("It was tried for %s; try again after %s.", time.Since(begin).Round(time.Second), wait.Round(time.Second))}
		}
		if gaveUp != nil {
			return gaveUp
		}
		c.cfg.Logger.Warn("GitHub is tried again", "why", Plain(err), "wait", wait)
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// rotated reports whether the token is another one than that of the last request: it was changed while a work went on.
func (c *Client) rotated(ctx context.Context) bool {
	token, err := c.cfg.Token(ctx)
	return err == nil && c.http.rotated(token)
}

// errUnlisted says that a pull request is there and not listed yet: its list is behind for a moment.
var errUnlisted = errors.New("GitHub has a pull request of this branch, and does not list it yet")

// judgeTry says whether trying again can help, and when.
func judgeTry(err error, repo string, n int) (*GiveUpError, time.Duration) {
	if e, ok := errors.AsType[*GiveUpError](err); ok {
		return e, 0
	}
	if _, wait := Pause(err); wait > 0 {
		return nil, wait
	}
	wait := min(maxWait, firstWait<<min(n, 10))
	x, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || x.Response == nil || x.Response.StatusCode >= 500 {
		return nil, wait
	}
	said := fmt.Sprintf("GitHub answered %d %.200s", x.Response.StatusCode, Plain(errors.New(x.Message)))
	switch x.Response.StatusCode {
	case http.StatusUnauthorized:
		return &GiveUpError{"GitHub does not accept the token", "Put a valid token where [github] says it is, then deliver again."}, 0
	case http.StatusForbidden:
		return &GiveUpError{said, "Give the token the permissions Contents and Pull requests: read and write, for " + repo + "."}, 0
	case http.StatusNotFound:
		return &GiveUpError{"there is no repository " + repo + ", or the token does not see it", "Look at the git remote, or set repo under [github]."}, 0
	}
	for _, e := range x.Errors {
		if e.Message != "" {
			said += ": " + Plain(errors.New(e.Message))
		}
	}
	return &GiveUpError{said, "Mend what it says, then deliver again."}, 0
}

// Open opens the pull request of a branch into a base, or finds the one that is open, or was merged, at this commit. It tries once.
func (c *Client) Open(ctx context.Context, repo, branch, commit, base, title, body string) (amp.PullState, error) {
	owner, name, _ := strings.Cut(repo, "/")
	found, err := c.find(ctx, repo, branch, commit, base)
	if err != nil || found != nil {
		return deref(found), err
	}
	p, _, err := c.client.PullRequests.Create(ctx, owner, name, &gh.NewPullRequest{Title: &title, Head: &branch, Base: &base, Body: &body})
	if err == nil {
		return *pull(repo, p).Pull, nil
	}
	if x, ok := errors.AsType[*gh.ErrorResponse](err); ok && x.Response != nil && x.Response.StatusCode == http.StatusUnprocessableEntity {
		found, err2 := c.find(ctx, repo, branch, commit, base)
		if err2 == nil && found != nil { // it was there, or the answer was lost
			return *found, nil
		}
		if err2 != nil || already(x) {
			return amp.PullState{}, cmp.Or(err2, errUnlisted)
		}
	}
	return amp.PullState{}, err
}

// already reports whether a refusal says that the branch has an open pull request.
func already(x *gh.ErrorResponse) bool {
	return strings.Contains(x.Message, "already exists") ||
		slices.ContainsFunc(x.Errors, func(e gh.Error) bool { return strings.Contains(e.Message, "already exists") })
}

func deref(p *amp.PullState) amp.PullState {
	if p == nil {
		return amp.PullState{}
	}
	return *p
}

// find is the pull request of a branch into the base that is open, or was merged at the commit; nil when there is none.
func (c *Client) find(ctx context.Context, repo, branch, commit, base string) (*amp.PullState, error) {
	owner, name, _ := strings.Cut(repo, "/")
	all, _, err := c.client.PullRequests.List(ctx, owner, name, &gh.PullRequestListOptions{
		State: "all", Head: owner + ":" + branch, Base: base, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 50},
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		o := pull(repo, p)
		if o.Branch == branch && p.GetBase().GetRef() == base && (o.Pull.State == amp.PullOpen || o.Pull.State == amp.PullMerged && o.Commit == commit) {
			return o.Pull, nil
		}
	}
	return nil, nil
}
