package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/forge"
	"arbiter/ssot"
	"arbiter/ssot/github/githubtest"
	"arbiter/ssot/memory"
)

// Without a webhook an open pull request is asked for: what is new is kept once, also by a coordinator that starts anew, and what was
// merged is asked for no more.
func TestPoller(t *testing.T) {
	t.Parallel()
	s := githubtest.New(t.TempDir())
	repo, err := s.Add("tea", "till")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	_, err = repo.Commit("main", "first", map[string][]byte{"x": []byte("1")})
	check(err)
	commit, err := repo.Commit("f", "work", map[string][]byte{"x": []byte("2")})
	check(err)
	client, err := forge.New(forge.Config{URL: "http://127.0.0.1:1/", Transport: s.Transport(), Token: func(context.Context) (string, error) { return "", nil }})
	check(err)
	pull, err := client.Open(t.Context(), "tea/till", "f", commit, "main", "t", "b")
	check(err)

	log := memory.New()
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	_, err = log.Append(t.Context(), []amp.Record{
		{Kind: amp.KindPlan, TaskID: "T-2026-001", Role: amp.Coordinator, Actor: "p", At: at, ID: "1", Body: amp.EncodeBody(amp.Plan{Title: "t", Branch: "f"})},
		{Kind: amp.KindCheck, TaskID: "T-2026-001", Role: amp.Coordinator, Actor: "arbiter", At: at, ID: "3", Body: amp.EncodeBody(amp.Check{Subject: amp.CheckReview, Commit: commit})},
		{Kind: amp.KindOutside, TaskID: "T-2026-001", Role: amp.System, Actor: "github", At: at, ID: "2", Body: amp.EncodeBody(amp.Outside{Event: amp.OutsidePull, Pull: &pull})},
	})
	check(err)
	pass := func() *amp.Task {
		t.Helper()
		c, err := coordinator.New(t.Context(), coordinator.Config{Log: log})
		check(err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		p := &poller{client: client, coord: c, every: time.Minute, logger: slog.New(slog.DiscardHandler)}
		check(p.pass(t.Context()))
		cancel()
		check(<-done)
		b, err := ssot.Fold(t.Context(), log)
		check(err)
		return b.Task("T-2026-001")
	}
	if n := pass().Outside.Reports; n != 1 {
		t.Errorf("%d reports before anything happened", n)
	}
	check(repo.Review(1, "ann", "APPROVED", "good"))
	for range 2 {
		if o := pass().Outside; o.Reports != 2 || o.Remarks != 1 {
			t.Errorf("%+v", o)
		}
	}
	check(repo.Merge(1, "mira"))
	if o := pass().Outside; o.Reports != 3 || o.Pull.State != amp.PullMerged || o.Pull.By != "mira" {
		t.Errorf("%+v", o)
	}
	s.Forget()
	if pass(); len(s.Requests()) != 0 {
		t.Errorf("what was merged is asked for: %v", s.Requests())
	}
}
