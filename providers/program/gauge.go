package program

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// Gauge knows what went to the model: programs report their tokens late, in part or not at all, and some repeat for ever what the model's service
// refuses. It is safe for concurrent use.
type Gauge struct {
	mu      sync.Mutex
	used    providers.Usage
	answers int
	refused int // answers without success since the last one with it
	status  int // of the last answer, 0 when the model was not reached
	retry   time.Duration
}

// On is the leash with the gauge on it, which tells all to what hung there before. Without a model there is nothing to know.
func (g *Gauge) On(l sandbox.Leash) sandbox.Leash {
	if l.Model.URL == "" {
		return l
	}
	meter, answered := l.Meter, l.Answered
	l.Meter = func(u sandbox.Used) error {
		g.mu.Lock()
		g.used = g.used.Plus(providers.Usage{
			Model: u.Model, Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Tokens: u.Input + u.Output,
		})
		g.mu.Unlock()
		if meter != nil {
			return meter(u)
		}
		return nil
	}
	l.Answered = func(status int, retry time.Duration) {
		g.mu.Lock()
		g.answers++
		g.status, g.retry = status, retry
		if g.refused++; status >= 200 && status < 400 {
			g.refused = 0
		}
		g.mu.Unlock()
		if answered != nil {
			answered(status, retry)
		}
	}
	return l
}

// Usage is what the answers so far took.
func (g *Gauge) Usage() providers.Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}

// The most that is waited for a service that refuses: how often a program may try, and how long the service may ask it to wait.
const (
	patience  = 4
	unreached = 2 // and when the model was not reached at all
	maxWait   = 20 * time.Second
)

// Stuck is why it makes no sense to let the program try again, nil when it does.
func (g *Gauge) Stuck() *providers.TurnError {
	g.mu.Lock()
	tries, wait, lost := g.refused, g.retry, g.status == 0
	g.mu.Unlock()
	gone := lost && tries > 0 && wait > 0
	if !gone && tries < patience && (tries == 0 || wait <= maxWait) && (tries < unreached || !lost) {
		return nil
	}
	if gone {
		return g.Trouble("the network did not answer")
	}
	if lost {
		return g.Trouble(fmt.Sprintf("it was not reached in %d tries", tries))
	}
	return g.Trouble(fmt.Sprintf("it refused %d times", tries))
}

// Trouble is an error with these words as the last answer of the service explains it.
func (g *Gauge) Trouble(words string) *providers.TurnError {
	return g.Failed(0, words)
}

// Failed is an error with the status that the program gives it, 0 when it gives none. A service that fails though its last answer was a good one
// was cut off in it.
func (g *Gauge) Failed(status int, words string) *providers.TurnError {
	g.mu.Lock()
	switch {
	case status == 0 && g.refused == 0:
		status = http.StatusOK
	case status == 0:
		status = g.status
	case status == http.StatusInternalServerError && g.answers > 0 && g.refused == 0:
		status = 0
	}
	g.mu.Unlock()
	return g.explain(status, words)
}

func (g *Gauge) explain(status int, words string) *providers.TurnError {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := Trouble{Words: words}
	switch {
	case status == 0:
		t.Class = providers.FailTransport
	case status >= http.StatusBadRequest:
		t.Status = status
	}
	failed := t.Error()
	if g.refused > 0 && failed.Retry == 0 {
		failed.Retry = g.retry
	}
	return failed
}
