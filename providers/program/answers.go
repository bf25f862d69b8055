package program

import (
	"sync"
	"time"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// Answers notes how the model's service answered last: programs keep to themselves how long it asks to wait. It is safe for concurrent use.
type Answers struct {
	mu    sync.Mutex
	retry time.Duration
}

// On is the leash with the notes taken on it.
func (a *Answers) On(l sandbox.Leash) sandbox.Leash {
	told := l.Answered
	l.Answered = func(status int, retry time.Duration) {
		a.mu.Lock()
		a.retry = retry
		a.mu.Unlock()
		if told != nil {
			told(status, retry)
		}
	}
	return l
}

// Advise adds to a failure that pauses when to try again, unless its own words said so.
func (a *Answers) Advise(failed *providers.TurnError) {
	if failed == nil || failed.Retry != 0 || !failed.Failure.Pauses() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	failed.Retry = a.retry
}
