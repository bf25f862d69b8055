package memory

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"arbiter/amp"
)

// journalName is who says what needs no model.
const journalName = "journal"

// Extract is what the journal itself says of a task: rejections, refutations, CI failures, locks, held planning messages, and how many rounds
// it took. It counts and names; why something happened it cannot tell.
func Extract(t *amp.Task, entries []amp.Entry) []Lesson {
	x := &extractor{task: t, scope: ScopeOf(repoOf(t)), at: map[string]int{}}
	for i := range entries {
		x.entry(&entries[i])
	}
	if t.Status == amp.Delivered {
		x.benchmark(entries)
	}
	return x.lessons
}

func repoOf(t *amp.Task) string {
	if t.Plan != nil {
		return t.Plan.Repo
	}
	if t.Wish != nil {
		return t.Wish.Repo
	}
	return ""
}

type extractor struct {
	task    *amp.Task
	scope   string
	lessons []Lesson
	at      map[string]int
	files   []string
	source  string // of the files
}

// add notes a lesson, and that another entry showed it.
func (x *extractor) add(kind Kind, scope, source, format string, args ...any) {
	l := Lesson{Kind: kind, Scope: scope, Text: fmt.Sprintf(format, args...), Task: x.task.ID, By: journalName}
	i, ok := x.at[l.id()]
	if !ok {
		i = len(x.lessons)
		x.at[l.id()] = i
		x.lessons = append(x.lessons, l)
	}
	if got := &x.lessons[i]; !slices.Contains(got.Sources, source) {
		got.Sources = append(got.Sources, source)
	}
}

// plainName is a name that can be repeated: others could say anything.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// place is the folder of a file, as far as it can be repeated; "" for a file that has none.
func place(file string) string {
	dir, _, below := strings.Cut(path.Clean(file), "/")
	if !below || !plainName.MatchString(dir) {
		return ""
	}
	return dir + "/"
}

func (x *extractor) entry(e *amp.Entry) {
	switch e.Kind {
	case amp.KindMessage:
		if m, _, err := amp.Decode(e.Body); err == nil {
			x.message(e, m)
		}
	case amp.KindCheck:
		if c, err := amp.DecodeBody[amp.Check](e); err == nil {
			x.check(e, &c)
		}
	case amp.KindChain:
		if c, err := amp.DecodeBody[amp.Chain](e); err == nil && c.Result == amp.ChainHeld {
			for _, p := range c.Problems {
				x.add(Heuristic, "", e.ID, "Messages of the %s agent were held for breaking %s: it should look at that rule before it answers.", c.Stage, p.Rule)
			}
		}
	case amp.KindAck, amp.KindCommand, amp.KindPlan, amp.KindTurn, amp.KindQuestion, amp.KindRefusal, amp.KindBus, amp.KindOutside:
	}
}

func (x *extractor) message(e *amp.Entry, m *amp.Message) {
	switch p := m.Payload.(type) {
	case *amp.Verdict:
		if p.Decision != amp.Rejected {
			return
		}
		for _, i := range p.Issues {
			if dir := place(i.File); dir != "" {
				x.add(Error, x.scope, e.ID, "Reviews rejected work for %s issues below %s: plan its checks and criteria with care.", i.Severity, dir)
			} else {
				x.add(Error, x.scope, e.ID, "Reviews rejected work for %s issues: plan checks and criteria that find them first.", i.Severity)
			}
		}
	case *amp.Escalation:
		switch p.EscalationType {
		case amp.HallucinationLock:
			x.add(Error, x.scope, e.ID, "Work was rejected until it locked: split plans of this kind into smaller subtasks.")
		case amp.BranchViolation, amp.PermissionDenied:
			x.add(Error, x.scope, e.ID, "An agent broke its bounds (%s): keep allowed paths narrow and name forbidden actions.", p.EscalationType)
		case amp.AckTimeoutEsc, amp.CIFailure, amp.Conflict, amp.HeartbeatTimeout, amp.UnknownEscalation:
		}
	}
}

func (x *extractor) check(e *amp.Entry, c *amp.Check) {
	switch c.Subject {
	case amp.CheckResult:
		for _, cl := range c.Claims {
			if cl.Finding == amp.Refuted && plainName.MatchString(cl.Name) {
				x.add(Heuristic, "", e.ID, "Git refuted what executors claimed of %s: ask for it to be measured, not remembered.", cl.Name)
			}
		}
		x.files, x.source = c.Files, e.ID
	case amp.CheckCI:
		for _, gate := range slices.Sorted(maps.Keys(c.CI)) {
			if c.CI[gate] == "failed" && plainName.MatchString(gate) {
				x.add(Error, x.scope, e.ID, "The %s CI failed before a review: let the executor run the checks before it reports.", gate)
			}
		}
	case amp.CheckReview, amp.CheckFix, amp.CheckSuspension, amp.CheckResume, amp.CheckCommand, amp.CheckWorkspace, amp.CheckRelease:
	}
}

// benchmark is what it took to deliver the task, and where it worked.
func (x *extractor) benchmark(entries []amp.Entry) {
	last := ""
	for i := range entries {
		last = entries[i].ID
	}
	if p := x.task.Plan; p != nil && x.task.Round > 0 {
		x.add(Benchmark, x.scope, last, "Plans of %s at %s risk were delivered after %s.", bucket(len(p.Subtasks), "subtask"), p.RiskLevel, bucket(x.task.Round, "round"))
	}
	for _, f := range x.files {
		if dir := place(f); dir != "" {
			x.add(Domain, x.scope, x.source, "Delivered work of this repository changed files below %s.", dir)
		}
	}
}

// bucket is a number as a size, so that tasks of a kind teach the same.
func bucket(n int, noun string) string {
	switch {
	case n <= 1:
		return "one " + noun
	case n <= 3:
		return "two or three " + noun + "s"
	default:
		return "more than three " + noun + "s"
	}
}
