package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/forge"
	"arbiter/ssot/github"
)

// untouched is a network that nothing may be sent over.
type untouched struct{ t *testing.T }

func (u untouched) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("%s %s was sent", r.Method, r.URL)
	return nil, errors.New("nothing may be sent")
}

// What looks like a secret in the text of a pull request keeps it from being opened, and the branch from being pushed.
func TestPulls_secret(t *testing.T) {
	t.Parallel()
	client, err := forge.New(forge.Config{
		Token: func(context.Context) (string, error) { return "a token", nil }, Transport: untouched{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &pulls{client: client, config: githubConfig{Repo: "tea/till"}, secrets: func() []github.Known {
		return []github.Known{{Name: "the key of agent coder", Value: "a-key-that-is-in-use-1234"}}
	}}
	for name, said := range map[string]string{
		"a configured one": "I used a-key-that-is-in-use-1234 for it", "one by its form": "ghp_" + strings.Repeat("a1B2", 9),
	} {
		d := amp.PullDraft{Title: "Bills count quantities", Plan: &amp.Plan{Description: said}}
		_, err := p.Open(t.Context(), amp.Workspace{Repo: "/srv/till", Branch: "feature/total"}, d)
		gave, ok := errors.AsType[*forge.GiveUpError](err)
		if !ok || !strings.Contains(gave.Why, "looks like a secret") || strings.Contains(gave.Error(), said) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
