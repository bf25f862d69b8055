package forge_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	gh "github.com/google/go-github/v60/github"

	"arbiter/forge"
)

// However long an answer asks for a pause, and whatever it says instead of a number: nobody waits for more than a day.
func TestPause(t *testing.T) {
	t.Parallel()
	answer := func(code int, after string) error {
		return &gh.ErrorResponse{Response: &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}}}
	}
	until := func(d time.Duration) error {
		return &gh.RateLimitError{Rate: gh.Rate{Reset: gh.Timestamp{Time: time.Now().Add(d)}}}
	}
	abuse := func(d time.Duration) error { return &gh.AbuseRateLimitError{RetryAfter: &d} }
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			err  error
			want time.Duration
		}{
			"seconds":             {answer(429, "90"), 90 * time.Second},
			"none":                {answer(429, "0"), time.Second},
			"no number":           {answer(429, "soon"), time.Minute},
			"less than nothing":   {answer(429, "-5"), time.Minute},
			"three years":         {answer(429, "99999999"), day},
			"ten days":            {answer(403, "864000"), day},
			"more than a number":  {answer(429, "99999999999999999999999"), time.Minute},
			"an hour":             {until(time.Hour), time.Hour},
			"over already":        {until(-time.Hour), time.Second},
			"in centuries":        {until(200 * 365 * day), day},
			"secondary":           {abuse(time.Minute), time.Minute},
			"secondary, negative": {abuse(-time.Minute), time.Second},
			"secondary, years":    {abuse(99999999 * time.Second), day},
			"another error":       {errors.New("no"), 0},
		} {
			if _, got := forge.Pause(tc.err); got != tc.want {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
		}
	})
}
