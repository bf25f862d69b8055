package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// Kind is what an entry is about.
type Kind string

// The kinds of entries.
const (
	Domain    Kind = "domain_knowledge"
	Heuristic Kind = "operational_heuristic"
	Error     Kind = "error_prevention"
	Benchmark Kind = "quality_benchmark"
)

// Kinds are all of them.
var Kinds = []Kind{Domain, Heuristic, Error, Benchmark}

// State is what an entry is good for now.
type State string

// The states. Only active entries reach a planning.
const (
	Active   State = "active"
	Staged   State = "staged"
	Archived State = "archived"
)

// The bounds of confidence, and how it decays.
const (
	ActiveFrom   = 0.7
	ArchiveBelow = 0.4
	// RestDays is how long an entry keeps its confidence unused; then it loses Decay a day.
	RestDays = 30
	Decay    = 0.01

	maxConfidence = 0.95
	maxText       = 400 // bytes of an entry
	maxSources    = 40
)

// Entry is one thing that was learned.
type Entry struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Scope is the repository that it is about, as [ScopeOf] names it; empty for every one.
	Scope string `json:"scope,omitzero"`
	Text  string `json:"text"`
	// Confidence is how sure it was when it was last learned or used; see [Entry.Now].
	Confidence float64   `json:"confidence"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	Used       time.Time `json:"used,omitzero"`
	// Sources are ids of journal entries, Tasks whose they are.
	Sources []string     `json:"sources"`
	Tasks   []amp.TaskID `json:"tasks"`
	// By is the agent that said it, "journal" or an admin who edited it.
	By     string `json:"by"`
	Edited bool   `json:"edited,omitzero"`
}

// Now is the confidence at a time: unused for longer than RestDays it decays. It changes nothing, so looking twice is looking once.
func (e *Entry) Now(now time.Time) float64 {
	last := e.Updated
	if e.Used.After(last) {
		last = e.Used
	}
	days := int(now.Sub(last).Hours()/24) - RestDays
	return max(0, e.Confidence-Decay*float64(max(0, days)))
}

// State is what the entry is good for at a time.
func (e *Entry) State(now time.Time) State {
	switch c := e.Now(now); {
	case c < ArchiveBelow:
		return Archived
	case c < ActiveFrom:
		return Staged
	}
	return Active
}

// ScopeOf names a repository without saying where it is.
func ScopeOf(repo string) string {
	if repo == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(repo))
	return hex.EncodeToString(sum[:6])
}

// Lesson is what one task taught, before it is an entry.
type Lesson struct {
	Kind       Kind
	Scope      string
	Text       string
	Confidence float64 // 0 lets the number of tasks decide
	Sources    []string
	Task       amp.TaskID
	By         string
}

// id is the same for the same lesson of any task.
func (l *Lesson) id() string {
	text := strings.Join(strings.Fields(strings.ToLower(l.Text)), " ")
	sum := sha256.Sum256([]byte(string(l.Kind) + "\x00" + l.Scope + "\x00" + text))
	return "mem-" + hex.EncodeToString(sum[:5])
}

// seen is the confidence of what so many tasks showed: one alone may be chance.
func seen(tasks int) float64 { return min(0.5+0.15*float64(tasks-1), maxConfidence) }

// learn adds a lesson, and reports whether that changed anything: the same lesson of the same task changes nothing.
func (b *Book) learn(l *Lesson, now time.Time) bool {
	id := l.id()
	if slices.Contains(b.Removed, id) {
		return false
	}
	i := slices.IndexFunc(b.Entries, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		e := Entry{
			ID: id, Kind: l.Kind, Scope: l.Scope, Text: l.Text, Confidence: min(l.Confidence, maxConfidence), Created: now, Updated: now,
			Sources: l.Sources[:min(len(l.Sources), maxSources)], Tasks: []amp.TaskID{l.Task}, By: l.By,
		}
		if e.Confidence == 0 {
			e.Confidence = seen(1)
		}
		b.Entries = append(b.Entries, e)
		return true
	}
	e := &b.Entries[i]
	if slices.Contains(e.Tasks, l.Task) {
		return false
	}
	before := e.Now(now)
	e.Tasks = append(e.Tasks, l.Task)
	for _, s := range l.Sources {
		if len(e.Sources) < maxSources && !slices.Contains(e.Sources, s) {
			e.Sources = append(e.Sources, s)
		}
	}
	e.Confidence = min(max(seen(len(e.Tasks)), l.Confidence, before+0.1), maxConfidence)
	e.Updated = now
	return true
}
