package main

import (
	"cmp"
	"context"
	"errors"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/forge"
	"arbiter/gitops"
)

// pulls delivers by pull request on GitHub.
type pulls struct {
	git    *gitops.Git
	client *forge.Client
	config githubConfig
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
		state, err = p.client.Open(ctx, repo, w.Branch, w.Commit, w.BaseBranch, forge.Title(&d), forge.Body(&d))
		return err
	})
	return state, err
}
