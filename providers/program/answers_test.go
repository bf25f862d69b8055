package program

import (
	"testing"
	"time"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	told := 0
	var a Answers
	l := a.On(sandbox.Leash{Answered: func(status int, _ time.Duration) { told = status }})
	l.Answered(429, time.Minute)
	for name, tc := range map[string]struct {
		failed providers.TurnError
		want   time.Duration
	}{
		"a limit":       {providers.TurnError{Failure: providers.FailRate}, time.Minute},
		"its own words": {providers.TurnError{Failure: providers.FailRate, Retry: time.Second}, time.Second},
		"no pause":      {providers.TurnError{Failure: providers.FailModel}, 0},
	} {
		if a.Advise(&tc.failed); tc.failed.Retry != tc.want {
			t.Errorf("%s: retry in %s, want %s", name, tc.failed.Retry, tc.want)
		}
	}
	a.Advise(nil)
	l.Answered(200, 0)
	failed := &providers.TurnError{Failure: providers.FailOverloaded}
	if a.Advise(failed); failed.Retry != 0 || told != 200 {
		t.Errorf("retry %s after a good answer, told %d", failed.Retry, told)
	}
}
