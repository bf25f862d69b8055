package coordinator

import (
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Stored is one append of the loop as its observer sees it.
type Stored struct {
	// Entries are those that were not stored before; they belong to the loop and are not to be kept or changed.
	Entries []amp.Entry
	Took    time.Duration
	Err     error
}

func (c *Coordinator) observe(begin time.Time, appended []ssot.Appended, err error) {
	if c.cfg.Observe == nil {
		return
	}
	s := Stored{Took: time.Since(begin), Err: err}
	for i := range appended {
		if appended[i].Fresh && appended[i].Err == nil {
			s.Entries = append(s.Entries, appended[i].Entry)
		}
	}
	c.cfg.Observe(s)
}
