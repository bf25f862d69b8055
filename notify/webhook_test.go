package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/notify"
)

// sink is a receiver of webhooks without a socket.
type sink struct {
	mu    sync.Mutex
	codes []int // of the next calls; then 200
	got   []received
	tries int
}

type received struct {
	id, body string
	genuine  bool
}

func (s *sink) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if len(s.codes) > 0 {
		code := s.codes[0]
		s.codes = s.codes[1:]
		if code == 0 {
			return nil, errors.New("connection refused")
		}
		w := httptest.NewRecorder()
		w.WriteHeader(code)
		return w.Result(), nil
	}
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	stamp := req.Header.Get("Arbiter-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	s.got = append(s.got, received{
		req.Header.Get("Arbiter-Id"), string(data),
		err == nil && time.Since(time.Unix(at, 0)) < time.Minute && req.Header.Get("Arbiter-Signature") == notify.Signature("key", stamp, data),
	})
	return httptest.NewRecorder().Result(), nil
}

// back lets the receiver take whatever comes.
func (s *sink) back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes = nil
}

func hook(s *sink, slack bool) notify.Webhook {
	return notify.Webhook{
		Name: "ops", URL: func() (string, error) { return "https://hooks.example/SECRET", nil }, Secret: func() (string, error) { return "key", nil },
		Slack: slack, Transport: s,
	}
}

// TestWebhook: what waits and what was decided comes signed and in order, also after the receiver was away for hours.
func TestWebhook(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		for range 15 {
			s.codes = append(s.codes, 0, 503, 429)
		}
		r := newRig(t, home, func(c *notify.Config) { c.Telegram, c.Webhooks = nil, []notify.Webhook{hook(s, false)} })
		r.j.plan(t, amp.Low, 1)
		r.start()
		time.Sleep(time.Hour)
		if _, err := r.j.Submit(t.Context(), amp.Command{ID: "x", Command: amp.Approve, By: "jan", TaskID: taskID, Args: amp.Args{Read: "x"}}); err != nil {
			t.Fatal(err)
		}
		r.stop() // and a restart
		r.start()
		time.Sleep(23 * time.Hour)
		r.stop()
		if len(s.got) != 2 {
			t.Fatalf("%d arrived after %d tries\n%s", len(s.got), s.tries, r.logs)
		}
		var first, second struct {
			ID, Event, Kind, Text string
			TaskID                string `json:"task_id"`
			Seq                   int
		}
		if err := errors.Join(json.Unmarshal([]byte(s.got[0].body), &first), json.Unmarshal([]byte(s.got[1].body), &second)); err != nil {
			t.Fatal(err)
		}
		if first.Event != "waiting" || first.Kind != "plan" || first.TaskID != "T-2026-001" || first.Seq != 2 || first.ID != s.got[0].id || !s.got[0].genuine {
			t.Errorf("%+v", s.got[0])
		}
		if second.Event != "decided" || !strings.Contains(second.Text, "decided by jan elsewhere") || !s.got[1].genuine {
			t.Errorf("%+v", s.got[1])
		}
		if strings.Contains(r.logs.String(), "SECRET") {
			t.Errorf("the log tells the address:\n%s", r.logs)
		}
	})
}

// TestDeadLetter: what is refused for good, or not taken for a day, is kept as a dead letter, and what comes behind it goes on.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	for name, codes := range map[string][]int{"refused": {400}, "away": make([]int, 200)} {
		home := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := &sink{codes: codes}
			r := newRig(t, home, func(c *notify.Config) { c.Telegram, c.Webhooks = nil, []notify.Webhook{hook(s, true)} })
			r.j.plan(t, amp.Low, 1)
			r.start()
			time.Sleep(30 * time.Hour)
			synctest.Wait()
			s.back()
			r.j.plan(t, amp.Low, 2)
			time.Sleep(time.Hour)
			r.stop()
			data, err := os.ReadFile(notify.DeadLetters(home))
			if err != nil || strings.Count(string(data), "\n") != 1 || !strings.Contains(string(data), `"webhook":"ops"`) {
				t.Errorf("%s: %s: %v", name, data, err)
			}
			if len(s.got) != 2 || !strings.Contains(s.got[1].body+s.got[0].body, "plan r2 needs you") || !strings.HasPrefix(s.got[0].body, `{"text":"*T-2026-001: plan r`) {
				t.Errorf("%s: %+v", name, s.got)
			}
		})
	}
}

// TestDesktop: what waits is shown there, at once when it is critical, else not in the quiet hours.
func TestDesktop(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		r := newRig(t, home, func(c *notify.Config) {
			c.Telegram, c.Quiet = nil, notify.Hours{To: 7 * time.Hour}
			c.Desktop = func(_ context.Context, _, body string, critical bool) error {
				shown = append(shown, body)
				if !critical {
					return errors.New("no display")
				}
				return nil
			}
		})
		r.start()
		time.Sleep(time.Minute)
		r.j.plan(t, amp.Low, 1)
		time.Sleep(time.Minute)
		r.j.escalate(t, 1, amp.Critical, amp.BranchViolation, "it touched main")
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(shown) != 1 || shown[0] != "T-2026-001: CRITICAL branch violation" {
			t.Errorf("%q", shown)
		}
		time.Sleep(8 * time.Hour)
		r.stop()
		if len(shown) != 1 { // the plan waits no more while the task is suspended
			t.Errorf("%q", shown)
		}
	})
}
