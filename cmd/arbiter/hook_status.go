package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/server"
)

// hookState is who may report from outside, and what came of it since the coordinator was started. It holds no secret, and nothing that
// somebody without one sent.
type hookState struct {
	// Source is "github", "ci/NAME", or "ci" for what no configured CI system signed.
	Source string `json:"source"`
	// Path is where it is delivered to.
	Path string `json:"path"`
	// Configured says that there is a secret for it, Readable that the secret can be read now.
	Configured bool `json:"configured"`
	Readable   bool `json:"readable"`
	// Last is when a webhook with a right signature came, and what became of it.
	Last    *time.Time `json:"last,omitzero"`
	Outcome string     `json:"outcome,omitzero"`
	// Refused is when one was refused, and Why the reason.
	Refused *time.Time `json:"refused,omitzero"`
	Why     string     `json:"why,omitzero"`
	// Failing says that the newest one was refused.
	Failing bool `json:"failing,omitzero"`
	// Counts are how many there were, by what became of them.
	Counts map[string]int `json:"counts,omitzero"`
}

// hookLedger is what came of webhooks. It is safe for concurrent use.
type hookLedger struct {
	mu  sync.Mutex
	all map[string]*hookState
}

// note takes down what became of a webhook.
func (l *hookLedger) note(source, outcome, why string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*hookState{}
	}
	s := l.all[source]
	if s == nil {
		s = &hookState{Source: source, Counts: map[string]int{}}
		l.all[source] = s
	}
	s.Counts[outcome]++
	if s.Failing = outcome == hookForged || outcome == hookRefused; s.Failing {
		s.Refused, s.Why = &at, why
		return
	}
	s.Last, s.Outcome = &at, outcome
}

// of is what is known of a source.
func (l *hookLedger) of(source string) hookState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := hookState{Source: source}
	if known := l.all[source]; known != nil {
		s = *known
		s.Counts = maps.Clone(known.Counts)
	}
	return s
}

// states are all sources, those that are configured first.
func (d *hooksDoor) states() []hookState {
	state := func(source, path string, secret func() (string, error)) hookState {
		s := d.ledger.of(source)
		s.Path, s.Configured = path, secret != nil
		if secret != nil {
			_, err := secret()
			s.Readable = err == nil
		}
		return s
	}
	all := []hookState{}
	if d.github != nil {
		all = append(all, state("github", githubHook, d.github))
	}
	for _, f := range d.ci {
		all = append(all, state("ci/"+f.name, ciHook, f.secret))
	}
	if stray := state("ci", ciHook, nil); stray.Counts != nil {
		all = append(all, stray)
	}
	return all
}

// statesRoute tells people how the webhooks stand.
func (d *hooksDoor) statesRoute() server.Route {
	return server.Route{
		Method: "GET", Path: "/v1/hooks", Access: server.People, Tag: "hooks", Summary: "Say which webhooks are configured, and what came of them since the start.",
		Out: []hookState{}, Answer: func(*http.Request) (any, error) { return d.states(), nil },
	}
}

func newHooks(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "hooks", Short: "Say which systems may report from outside, when each did last, and what was refused and why", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			client, err := a.reach(c.Context())
			if err != nil {
				return err
			}
			var all []hookState
			if err := client.Ask(c.Context(), http.MethodGet, "/v1/hooks", &all); err != nil {
				return err
			}
			if a.json {
				a.outJSON(noNil(all))
				return nil
			}
			if len(all) == 0 {
				a.out("No webhook is configured. [hooks] in the configuration lets GitHub and CI systems report; docs/hooks.md says how.\n")
				return nil
			}
			t := &table{}
			for i := range all {
				s := &all[i]
				t.add(safe(s.Source), s.Path, s.says())
				if s.Refused != nil {
					t.add("", "", "refused at "+s.Refused.Local().Format(time.DateTime)+": "+safe(s.Why))
				}
			}
			t.print(a)
			return nil
		}),
	}
}

// says is how a source stands, on one line.
func (s *hookState) says() string {
	var parts []string
	switch {
	case !s.Configured:
		parts = append(parts, "signed by none that is configured")
	case !s.Readable:
		parts = append(parts, "its secret cannot be read")
	}
	if s.Last != nil {
		parts = append(parts, fmt.Sprintf("last at %s: %s", s.Last.Local().Format(time.DateTime), s.Outcome))
	} else if s.Configured {
		parts = append(parts, "nothing came since the start")
	}
	for _, outcome := range slices.Sorted(maps.Keys(s.Counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Counts[outcome], outcome))
	}
	return strings.Join(parts, ", ")
}

// hookFindings are what doctor says of the webhooks of a coordinator that runs.
func hookFindings(all []hookState) (out []finding) {
	for i := range all {
		s := &all[i]
		f := finding{"hook " + s.Source, "ok", s.says(), ""}
		switch {
		case s.Configured && !s.Readable:
			f.Level, f.Next = "fail", "Mend the file or variable that [hooks] names for it."
		case s.Failing:
			f.Level, f.What = "warn", f.What+"; the last one was refused: "+s.Why
			f.Next = "Compare the secret here with the one there; docs/hooks.md says what is signed."
		}
		out = append(out, f)
	}
	return out
}

// reasons are the problems of a refusal, on one line, without what was sent.
func reasons(problems []amp.Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = strings.TrimSpace(cmp.Or(p.Field, p.Rule) + " " + p.Message)
	}
	text := strings.Join(parts, "; ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
