package github_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/ssot/github"
	"arbiter/ssot/github/githubtest"
)

const secondary = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"

// Every limit is waited for as long as the service says, and not longer.
func TestMirror_limits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault       githubtest.Fault
		least, most time.Duration
	}{
		"secondary":               {githubtest.Fault{Status: 403, Header: http.Header{"Retry-After": {"90"}}, Link: secondary}, 90 * time.Second, 2 * time.Minute},
		"secondary without words": {githubtest.Fault{Status: 403, Header: http.Header{"Retry-After": {"90"}}}, 90 * time.Second, 2 * time.Minute},
		"secondary without time":  {githubtest.Fault{Status: 403, Link: secondary, Header: http.Header{"X-Ratelimit-Remaining": {"12"}}}, time.Minute, 2 * time.Minute},
		"429":                     {githubtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"300"}}}, 5 * time.Minute, 8 * time.Minute},
		"429 without time":        {githubtest.Fault{Status: 429}, time.Minute, 2 * time.Minute},
		"429 beyond all reason":   {githubtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"-5"}}}, time.Minute, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.grow(2)
				m := w.mirror()
				w.push(m)
				w.grow(2)
				hit := 0
				w.hub.Break(func(r *http.Request) *githubtest.Fault {
					if hit > 0 || r.Method == http.MethodGet {
						return nil
					}
					hit++
					f := tc.fault
					return &f
				})
				begin := time.Now()
				w.push(m)
				if d := time.Since(begin); d < tc.least || d > tc.most {
					t.Errorf("it went on after %s, want %s to %s", d, tc.least, tc.most)
				}
				if hit == 0 {
					t.Error("no limit was met")
				}
			})
		})
	}
}

func TestMirror_primaryLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(2)
		m := w.mirror()
		w.hub.SetLimit(7, time.Now().Add(40*time.Minute))
		begin := time.Now()
		w.push(m)
		if d := time.Since(begin); d < 40*time.Minute || d > 55*time.Minute {
			t.Errorf("it went on after %s, the limit ended after 40m", d)
		}
		refused := 0
		for _, r := range w.hub.Requests() {
			if r.Status == http.StatusForbidden {
				refused++
			}
		}
		if refused > 1 {
			t.Errorf("%d requests were made without a right to", refused)
		}
	})
}

// A token that is refused is read again; the state says what is wrong meanwhile, and nothing is lost.
func TestMirror_rotatedToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(2)
		w.run(func(m *github.Mirror) {
			later(time.Minute)
			w.whole(m)
			w.hub.SetToken("the second token")
			w.grow(2)
			later(time.Hour)
			s := m.State()
			if s.Behind != 2 || !strings.Contains(s.Trouble, "token") || s.Next == "" || s.Stopped || s.Lag(time.Now()) == 0 {
				t.Errorf("with a refused token it says %+v", s)
			}
			if strings.Contains(s.Trouble+s.Next, "the first token") {
				t.Error("the token is in what it says")
			}
			w.rotate("the second token")
			later(15 * time.Minute)
			w.whole(m)
			w.rotate("the third token")
			w.grow(1)
			later(time.Minute)
			w.whole(m) // it is known before anybody is refused twice
		})
	})
}

func TestMirror_outageOfHours(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]githubtest.Fault{
		"503": {Status: 503}, "502 page": {Status: 502, Message: "<html>"}, "cut": {Cut: true}, "too slow": {Delay: time.Hour, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task(1)
				w.run(func(m *github.Mirror) {
					later(time.Minute)
					w.whole(m)
					w.hub.Break(func(*http.Request) *githubtest.Fault { return &f })
					w.hub.Forget()
					for range 50 {
						w.grow(7)
						later(10 * time.Minute)
					}
					s := m.State()
					if s.Behind < 330 || s.Trouble == "" || s.Until.IsZero() || s.Stopped {
						t.Errorf("in the outage it says %+v", s)
					}
					if n := len(w.hub.Requests()); n > 8*6*3+30 {
						t.Errorf("%d requests in 500 minutes of outage", n)
					}
					w.hub.Break(nil)
					later(16 * time.Minute) // a request that hangs for 2 minutes, and the longest wait behind it
					w.whole(m)
					w.compare()
				})
			})
		})
	}
}

func TestMirror_slowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(3)
		w.hub.Break(func(*http.Request) *githubtest.Fault { return &githubtest.Fault{Delay: 100 * time.Second} })
		w.run(func(m *github.Mirror) {
			for range 20 {
				later(time.Minute)
				w.grow(10)
			}
			w.hub.Break(nil)
			later(5 * time.Minute)
			w.whole(m)
			w.compare()
		})
	})
}

// Every tenth request fails in some way, also after it was carried out: what is mirrored is right, and never twice.
func TestMirror_anyRequestFails(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := seed
				w.hub.Break(func(*http.Request) *githubtest.Fault {
					n++
					switch n % 23 {
					case 3:
						return &githubtest.Fault{Cut: true, After: true}
					case 9:
						return &githubtest.Fault{Cut: true}
					case 14:
						return &githubtest.Fault{Status: 500}
					case 20:
						return &githubtest.Fault{Status: 403, Link: secondary, Header: http.Header{"Retry-After": {"7"}, "X-Ratelimit-Remaining": {"9"}}}
					}
					return nil
				})
				m := w.mirror()
				for i := range 12 {
					w.grow(3)
					w.task(i + 1)
					if i%5 == 4 {
						m = w.mirror() // a new start
					}
					if err := m.Push(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				w.hub.Break(nil)
				w.push(m)
				w.compare()
				all, err := w.repo.Log("main")
				if err != nil || len(all) > 14 {
					t.Errorf("there are %d commits for 12 turns (%v)", len(all), err)
				}
			})
		})
	}
}

func TestMirror_withoutRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(1)
	w.hub.SetReadOnly(true)
	m := w.mirror()
	if err := m.Push(t.Context()); err == nil || !strings.Contains(m.State().Next, "Contents: read and write") {
		t.Errorf("without the right to write: %v, next %q", err, m.State().Next)
	}
	w.hub.SetReadOnly(false)
	w.hub.Remove("ada", "journal")
	if err := m.Push(t.Context()); err == nil || !strings.Contains(m.State().Trouble, "there is no repository ada/journal") {
		t.Errorf("without the repository: %v, trouble %q", err, m.State().Trouble)
	}
}

// What asks whether anybody changed the branch is free of the limit, and small.
func TestMirror_conditionalPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(2)
		w.run(func(m *github.Mirror) {
			later(time.Hour)
			w.hub.Forget()
			later(10 * time.Hour)
			unchanged := 0
			all := w.hub.Requests()
			for _, r := range all {
				if r.Status == http.StatusNotModified {
					unchanged++
				}
			}
			if len(all) < 50 || len(all) > 70 || unchanged < len(all)-1 {
				t.Errorf("in 10 hours without an entry %d requests were made, %d of them free", len(all), unchanged)
			}
		})
	})
}

// With one entry now and then a commit takes three requests, and entries are gathered.
func TestMirror_pace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(1)
		w.cfg.Gap = time.Second
		w.run(func(m *github.Mirror) {
			later(time.Minute)
			w.hub.Forget()
			for range 600 {
				w.grow(1)
				later(time.Second)
			}
			later(time.Minute)
			w.whole(m)
			var last time.Time
			writes := 0
			for _, r := range w.hub.Requests() {
				if !r.Written {
					continue
				}
				if writes++; r.At.Sub(last) < time.Second {
					t.Errorf("%s %s came %s after the write before", r.Method, r.Path, r.At.Sub(last))
				}
				last = r.At
			}
			if writes > 3*21 {
				t.Errorf("600 entries in 10 minutes took %d writes", writes)
			}
		})
	})
}

func TestMirror_badAnswers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no json": "<html>", "nothing": "", "null": "null", "no hash": `{"sha":"../../etc","object":{"sha":"x"},"tree":[]}`,
		"deep": strings.Repeat("[", 100_000), "long": fmt.Sprintf(`{"sha":%q}`, strings.Repeat("a", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.grow(1)
			w.cfg.Transport = lies(body)
			m := w.mirror()
			ctx, cancel := contextOf(t)
			defer cancel()
			w.cfg.Changed = nil
			if err := github.Once(ctx, m); err == nil {
				t.Error("a service that answers with nonsense was believed")
			}
		})
	}
}
