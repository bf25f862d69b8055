package main

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
)

// addTeam puts what is known of the other coordinators into the status.
func addTeam(t *table, s *amp.TeamState, b map[amp.TaskID]string, now time.Time) {
	if s == nil {
		return
	}
	if s.Unreached != nil {
		t.add("DATABASE", fmt.Sprintf("has not answered for %s; its leases lapse, and agents here are stopped before", ago(*s.Unreached, now)))
	}
	for _, m := range s.Members {
		what := fmt.Sprintf("%s, acts on %s", m.Owner, plural(m.Tasks, "task"))
		if m.Owner == s.Owner {
			what += " (this one)"
		}
		if ids := ownedBy(s.Owned, m.Owner); len(ids) > 0 {
			what += ": " + strings.Join(ids, ", ")
		}
		if len(m.Duties) > 0 {
			what += "; does for all: " + strings.Join(m.Duties, ", ")
		}
		t.add("team", what)
	}
	for _, gone := range gone(s) {
		t.add("team", fmt.Sprintf("%s does not answer; what it acted on is taken over when its lease lapses: %s",
			gone, strings.Join(ownedBy(s.Owned, gone), ", ")))
	}
	for _, k := range s.Kept[:min(len(s.Kept), maxOwned)] {
		t.add("not handed over", fmt.Sprintf("%s cannot go on elsewhere if this machine fails, for %s now: %s", k.TaskID, ago(k.Since, now), k.Why))
	}
	for _, w := range s.Away[:min(len(s.Away), maxOwned)] {
		where := "another machine"
		if b[w.TaskID] != "" {
			where = b[w.TaskID]
		}
		t.add("waits for "+where, fmt.Sprintf("%s: %s", w.TaskID, w.Why))
	}
}

// maxOwned is how many tasks are named in one line.
const maxOwned = 10

func ownedBy(all []amp.TeamTask, owner string) (ids []string) {
	n := 0
	for _, o := range all {
		if o.Owner != owner {
			continue
		}
		if n++; n <= maxOwned {
			ids = append(ids, string(o.TaskID))
		}
	}
	if n > maxOwned {
		ids = append(ids, fmt.Sprintf("and %d more", n-maxOwned))
	}
	return ids
}

// gone are the owners of leases that show themselves no more.
func gone(s *amp.TeamState) (names []string) {
	there := map[string]bool{}
	for _, m := range s.Members {
		there[m.Owner] = true
	}
	for _, o := range s.Owned {
		if !there[o.Owner] {
			there[o.Owner] = true
			names = append(names, o.Owner)
		}
	}
	return names
}
