package program

import (
	"errors"
	"testing"
	"time"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// answersOf is a gauge after these answers of the service.
func answersOf(wait time.Duration, statuses ...int) *Gauge {
	g := &Gauge{}
	l := g.On(sandbox.Leash{Model: sandbox.Model{URL: "http://127.0.0.1:9"}})
	for _, s := range statuses {
		l.Answered(s, wait)
	}
	return g
}

func TestGauge_stuck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wait     time.Duration
		statuses []int
		want     providers.Failure
	}{
		"nothing":        {0, nil, ""},
		"good":           {0, []int{200, 200, 200, 200, 200}, ""},
		"tries again":    {time.Second, []int{429, 429, 429}, ""},
		"for ever":       {time.Second, []int{429, 429, 429, 429}, providers.FailRate},
		"in between":     {0, []int{500, 500, 500, 200, 500, 500, 500}, ""},
		"a long wait":    {time.Hour, []int{429}, providers.FailRate},
		"a long day":     {time.Hour, []int{503}, providers.FailOverloaded},
		"no good key":    {0, []int{401, 401, 401, 401}, providers.FailAuth},
		"refused once":   {0, []int{0}, ""},
		"swallowed":      {20 * time.Second, []int{0}, providers.FailTransport},
		"nobody answers": {0, []int{0, 0, 0, 0}, providers.FailTransport},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := answersOf(tc.wait, tc.statuses...).Stuck()
			if (failed != nil) != (tc.want != "") || failed != nil && (failed.Failure != tc.want || failed.Retry != tc.wait) {
				t.Errorf("stuck = %+v, want %q after %v", failed, tc.want, tc.wait)
			}
		})
	}
}

// TestGauge_trouble: what the service answered says more than the words of the program.
func TestGauge_trouble(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		got  *providers.TurnError
		want providers.Failure
	}{
		"words alone":       {answersOf(0).Trouble("Incorrect API key provided"), providers.FailAuth},
		"status and words":  {answersOf(0, 429).Trouble("Internal error"), providers.FailRate},
		"good before":       {answersOf(0, 429, 200).Trouble("Internal error"), providers.FailModel},
		"program's status":  {answersOf(0, 401).Failed(401, "x"), providers.FailAuth},
		"cut in the answer": {answersOf(0, 200).Failed(500, "terminated"), providers.FailTransport},
		"failed":            {answersOf(0, 500).Failed(500, "oops"), providers.FailModel},
		"never asked":       {answersOf(0).Failed(500, "oops"), providers.FailModel},
	} {
		if tc.got.Failure != tc.want {
			t.Errorf("%s: %v, want %s", name, tc.got, tc.want)
		}
	}
}

// TestGauge_passesOn: what hung on the leash before hangs there still.
func TestGauge_passesOn(t *testing.T) {
	t.Parallel()
	full, told := errors.New("full"), 0
	g := &Gauge{}
	l := g.On(sandbox.Leash{
		Model: sandbox.Model{URL: "http://127.0.0.1:9"}, Meter: func(sandbox.Used) error { return full },
		Answered: func(status int, _ time.Duration) { told = status },
	})
	l.Answered(418, 0)
	if err := l.Meter(sandbox.Used{Model: "m", Input: 3, Cached: 1, Output: 2}); !errors.Is(err, full) || told != 418 {
		t.Errorf("Meter = %v, told %d", err, told)
	}
	if u := g.Usage(); u.Tokens != 5 || u.Input != 3 || u.Cached != 1 || u.Output != 2 || u.Model != "m" {
		t.Errorf("usage = %+v", u)
	}
	if free := g.On(sandbox.Leash{}); free.Meter != nil || free.Answered != nil {
		t.Error("a leash without a model got a meter")
	}
}
