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

// pullText is a pull request before it is sent: where it goes, and its text.
type pullText struct{ repo, title, body string }

// write finds where a pull request goes, and writes its text. It is a [*forge.GiveUpError] when nothing may be sent.
func (p *pulls) write(ctx context.Context, w amp.Workspace, d *amp.PullDraft) (m pullText, err error) {
	m.title = forge.Title(d)
	if m.repo = p.config.Repo; m.repo == "" {
		address, err := p.git.RemoteURL(ctx, w.Repo, cmp.Or(p.config.Remote, "origin"))
		if err == nil {
			m.repo, err = p.client.RepoOf(address)
		}
		if err != nil {
			return m, &forge.GiveUpError{Why: "the repository on GitHub is not known: " + forge.Plain(err), Next: "Add the git remote, or set remote or repo under [github]."}
		}
	}
	m.body = forge.Body(d)
	if found := github.NewScanner(p.secrets(), nil).Find([]byte(m.title), []byte(m.body)); len(found) > 0 {
		m.title = ""
		return m, &forge.GiveUpError{
			Why: "the text of the pull request holds what looks like a secret (" + found[0].Rule + "), and nothing was sent", Next: "Deliver without --pr, push the branch and open the pull request yourself.",
		}
	}
	return m, nil
}

// Plan says what Open would send.
func (p *pulls) Plan(ctx context.Context, w amp.Workspace, d amp.PullDraft) (amp.PullPlan, error) {
	plan := amp.PullPlan{Branch: w.Branch, Base: w.BaseBranch, Commit: w.Commit}
	m, err := p.write(ctx, w, &d)
	if plan.Repo, plan.Title, plan.BodyBytes = m.repo, m.title, len(m.body); m.repo != "" {
		plan.At = p.client.PushURL(m.repo)
	}
	if err == nil {
		if plan.Commits, err = p.git.Outgoing(ctx, w); err != nil {
			err = stopped(err)
		}
	}
	if gave, ok := errors.AsType[*forge.GiveUpError](err); ok {
		plan.Refused, plan.Next, err = gave.Why, gave.Next, nil
	}
	return plan, err
}

// stopped is what git says of a push, in the words of a delivery: what only a person can mend ends it.
func stopped(err error) error {
	if e, ok := errors.AsType[*gitops.PublishError](err); ok && e.Mend {
		return &forge.GiveUpError{Why: e.Why, Next: "Then deliver again."}
	}
	return err
}

// Open pushes the reviewed commit to its branch, then opens the pull request, or finds it. A crash between the two, or a lost answer, is
// mended by doing both again: a branch that is there and a pull request that is open are found.
func (p *pulls) Open(ctx context.Context, w amp.Workspace, d amp.PullDraft) (state amp.PullState, err error) {
	m, err := p.write(ctx, w, &d)
	if err != nil {
		return state, err
	}
	err = p.client.Try(ctx, m.repo, func(ctx context.Context) error {
		token, err := p.client.Token(ctx)
		if err != nil {
			return &forge.GiveUpError{Why: forge.Plain(err), Next: "Mend where [github] says the token is, then deliver again."}
		}
		if err := p.git.Publish(ctx, w, p.client.PushURL(m.repo), token); err != nil {
			return stopped(err)
		}
		state, err = p.client.Open(ctx, m.repo, w.Branch, w.Commit, w.BaseBranch, m.title, m.body)
		return err
	})
	return state, err
}
