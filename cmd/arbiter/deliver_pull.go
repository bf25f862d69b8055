package main

import (
	"cmp"
	"context"
	"errors"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/forge"
	"arbiter/gitops"
	"arbiter/ssot/github"
)

// pulls delivers by pull request on GitHub.
type pulls struct {
	git    *gitops.Git
	client *forge.Client
	config githubConfig
	// secrets are the configured ones, which never leave the machine.
	secrets func() []github.Known
}

var _ coordinator.Pulls = (*pulls)(nil)

// Open pushes the reviewed commit to its branch, then opens the pull request, or finds it. A crash between the two, or a lost answer, is
// mended by doing both again: a branch that is there and a pull request that is open are found.
func (p *pulls) Open(ctx context.Context, w amp.Workspace, d amp.PullDraft) (state amp.PullState, err error) {
	repo := p.config.Repo
	if repo == "" {
		address, err := p.git.RemoteURL(ctx, w.Repo, cmp.Or(p.config.Remote, "origin"))
		if err == nil {
			repo, err = p.client.RepoOf(address)
		}
		if err != nil {
			return state, &forge.GiveUpError{Why: "the repository on GitHub is not known: " + forge.Plain(err), Next: "Add the git remote, or set remote or repo under [github]."}
		}
	}
	title, body := forge.Title(&d), forge.Body(&d)
	if found := github.NewScanner(p.secrets(), nil).Find([]byte(title), []byte(body)); len(found) > 0 {
		return state, &forge.GiveUpError{
			Why: "the text of the pull request holds what looks like a secret (" + found[0].Rule + "), and nothing was sent", Next: "Deliver without --pr, push the branch and open the pull request yourself.",
		}
	}
	err = p.client.Try(ctx, repo, func(ctx context.Context) error {
		token, err := p.client.Token(ctx)
		if err != nil {
			return &forge.GiveUpError{Why: forge.Plain(err), Next: "Mend where [github] says the token is, then deliver again."}
		}
		err = p.git.Publish(ctx, w, p.client.PushURL(repo), token)
		if e, ok := errors.AsType[*gitops.PublishError](err); ok && e.Mend {
			return &forge.GiveUpError{Why: e.Why, Next: "Then deliver again."}
		}
		if err != nil {
			return err
		}
		state, err = p.client.Open(ctx, repo, w.Branch, w.Commit, w.BaseBranch, title, body)
		return err
	})
	return state, err
}
