package gitops

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
)

// PublishError says why a commit was not pushed. Mend says that only a person can mend it; trying again helps otherwise.
type PublishError struct {
	Why  string
	Mend bool
}

// Error is why.
func (e *PublishError) Error() string { return e.Why }

// RemoteURL is the address of a remote of a repository, as its configuration says, without a password.
func (g *Git) RemoteURL(ctx context.Context, repoPath, remote string) (string, error) {
	r, err := g.open(repoPath)
	if err != nil {
		return "", err
	}
	url, err := r.address(ctx, remote, true)
	return urlPassword.ReplaceAllString(url, "://"), err
}

// Outgoing is how many commits the reviewed commit brings to the base branch as it is here, or a [*PublishError] that says why [Git.Publish]
// would not push it. Nothing is sent, and nobody else is asked.
func (g *Git) Outgoing(ctx context.Context, w amp.Workspace) (int, error) {
	r, err := g.publishable(ctx, w)
	if err != nil {
		return 0, err
	}
	base, err := r.tip(ctx, "refs/heads/"+w.BaseBranch)
	if err != nil {
		return 0, err
	}
	return r.count(ctx, cmp.Or(base, w.BaseCommit), w.Commit)
}

// publishable is the repository of a commit that may be pushed.
func (g *Git) publishable(ctx context.Context, w amp.Workspace) (*repo, error) {
	r, err := g.open(w.Repo)
	if err != nil {
		return nil, err
	}
	if c, err := r.commit(ctx, w.Commit); err != nil || c == "" {
		return nil, errors.Join(err, fmt.Errorf("commit %s is not in the repository %s", short(w.Commit), r.root))
	}
	if name := strings.TrimSpace(w.Branch); g.isProtected(r, name, w.BaseBranch) {
		return nil, &PublishError{Why: "the branch " + name + " is protected, and nothing is pushed to it", Mend: true}
	}
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil || tip == w.Commit {
		return r, err
	}
	if reviewed, err := r.awaited(ctx, w); err != nil || tip != "" && tip == reviewed { // the branch follows
		return r, err
	}
	return r, &PublishError{Why: undelivered(w, tip), Mend: true}
}

// Publish sets the task's branch at an address to the reviewed commit, and nothing else; it never forces. A branch that is there already
// costs nothing, one with other commits is a [*PublishError]. The token goes to that address alone, in no argument and no file: the push
// runs in an empty repository beside the task's, so that no configuration in there has a say in where it goes.
func (g *Git) Publish(ctx context.Context, w amp.Workspace, url, token string) error {
	r, err := g.publishable(ctx, w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	c, end, err := r.apart(ctx)
	if err != nil {
		return err
	}
	defer end()
	return g.publish(ctx, c, w, url, token)
}

func (g *Git) publish(ctx context.Context, c call, w amp.Workspace, url, token string) error {
	if token != "" {
		c.env = append(c.env,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http."+url+".extraHeader",
			"GIT_CONFIG_VALUE_0=Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)))
	}
	// The longest address that fits decides, so that no shorter one of the person's own leads the push elsewhere.
	args := append(append([]string{}, netConfig...),
		"-c", "credential.helper=", "-c", "http.followRedirects=false", "-c", "url."+url+".insteadOf="+url, "-c", "url."+url+".pushInsteadOf="+url,
		"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-recurse-submodules", "--receive-pack=git-receive-pack", "--", url,
		w.Commit+":refs/heads/"+w.Branch)
	out, err := g.run(ctx, c, args...)
	e, ok := errors.AsType[*exitError](err)
	if !ok {
		return err
	}
	said := urlPassword.ReplaceAllString(e.stderr, "://")
	switch {
	case strings.Contains(out, "(fetch first)"), strings.Contains(out, "(non-fast-forward)"):
		return &PublishError{Mend: true, Why: "the branch " + w.Branch + " there holds commits that were not reviewed; remove it there, or deliver without a pull request"}
	case strings.Contains(out, "[remote rejected]"):
		_, why, _ := strings.Cut(oneLine(out), "[remote rejected]")
		return &PublishError{Mend: true, Why: "the branch was refused there: " + strings.TrimSpace(why)}
	case strings.Contains(said, "Authentication failed"), strings.Contains(said, "could not read Username"), strings.Contains(said, "error: 403"):
		return &PublishError{Mend: true, Why: "the token may not push there; give it the permission Contents: read and write"}
	case strings.Contains(said, "not found"), strings.Contains(said, "error: 404"):
		return &PublishError{Mend: true, Why: "there is no repository at " + url + ", or the token does not see it"}
	}
	return &PublishError{Why: "the branch could not be pushed: " + said}
}
