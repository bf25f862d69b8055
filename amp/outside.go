package amp

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// OutsideEvent is what a report from outside is about.
type OutsideEvent string

// The events that come from outside.
const (
	// OutsideCI is the state of a check that ran elsewhere on a commit.
	OutsideCI OutsideEvent = "ci"
	// OutsideReview is a review of a pull request, OutsideComment a comment on it.
	OutsideReview  OutsideEvent = "review"
	OutsideComment OutsideEvent = "comment"
	// OutsidePull is the state of a pull request.
	OutsidePull OutsideEvent = "pull"
)

// CIState is how a check stands that ran elsewhere. Only passed is passed: a check that was skipped or canceled says nothing.
type CIState string

// The states of a check.
const (
	CheckPassed   CIState = "passed"
	CheckFailed   CIState = "failed"
	CheckPending  CIState = "pending"
	CheckSkipped  CIState = "skipped"
	CheckCanceled CIState = "canceled"
)

// CIStates are all states of a check.
var CIStates = []CIState{CheckPassed, CheckFailed, CheckPending, CheckSkipped, CheckCanceled}

// Outside is the body of an outside entry: one report of another system about a task's commit, branch or pull request. Whatever
// text it holds was written by strangers: it is for the admin to read, and reaches no agent.
type Outside struct {
	Event  OutsideEvent `json:"event"`
	TaskID TaskID       `json:"task_id"`
	// Source is "github" or "ci/NAME", Delivery the id that it came with, What its own word for the event.
	Source   string `json:"source"`
	Delivery string `json:"delivery"`
	What     string `json:"what,omitzero"`
	// Digest is the SHA-256 of what was received, empty when it was asked for.
	Digest string `json:"digest,omitzero"`
	// Repo is owner/name where it was said, Commit and Branch what it is about.
	Repo   string `json:"repo,omitzero"`
	Commit string `json:"commit,omitzero"`
	Branch string `json:"branch,omitzero"`
	URL    string `json:"url,omitzero"`
	// At is when it was so, by the clock of the other system; zero when it does not say.
	At     time.Time  `json:"at,omitzero"`
	CI     *CIReport  `json:"ci,omitzero"`
	Pull   *PullState `json:"pull,omitzero"`
	Remark *Remark    `json:"remark,omitzero"`
}

// CIReport is one check that ran elsewhere.
type CIReport struct {
	// Name is its key in ci_status; Said is the other system's own word for the state.
	Name  string  `json:"name"`
	State CIState `json:"state"`
	Said  string  `json:"said,omitzero"`
}

// PullStatus is how a pull request stands.
type PullStatus string

// The states of a pull request.
const (
	PullOpen   PullStatus = "open"
	PullClosed PullStatus = "closed"
	PullMerged PullStatus = "merged"
)

// PullState is a pull request.
type PullState struct {
	Repo   string     `json:"repo"`
	Number int        `json:"number"`
	State  PullStatus `json:"state,omitzero"`
	URL    string     `json:"url,omitzero"`
	// Merge is the commit that it was merged as, By who closed or merged it.
	Merge string `json:"merge,omitzero"`
	By    string `json:"by,omitzero"`
	// At is when the other system said so, Seq the entry that noted it.
	At  time.Time `json:"at,omitzero"`
	Seq uint64    `json:"seq,omitzero"`
}

// Same reports whether both are the same pull request.
func (p *PullState) Same(q *PullState) bool {
	return p != nil && q != nil && p.Number == q.Number && strings.EqualFold(p.Repo, q.Repo)
}

// Remark is what somebody wrote about a pull request.
type Remark struct {
	Author string `json:"author"`
	// Verdict is what a review says: approved, changes_requested or commented.
	Verdict string `json:"verdict,omitzero"`
	File    string `json:"file,omitzero"`
	Line    int    `json:"line,omitzero"`
	// Text is cut to MaxRemark bytes; Len is how long it was.
	Text string `json:"text,omitzero"`
	Len  int    `json:"len,omitzero"`
}

// The bounds of what comes from outside.
const (
	// MaxRemark is how many bytes of a remark are kept, MaxOutsideWord how many of a name or an address.
	MaxRemark      = 8 << 10
	MaxOutsideWord = 500
	// MaxRemarks is how many remarks of a task are kept, MaxOutside how many reports.
	MaxRemarks = 300
	MaxOutside = 5000
	// maxExternal is how many checks a task's state holds.
	maxExternal = 64
)

// ExternalCI is the last that was heard of a check on a commit.
type ExternalCI struct {
	CIReport
	Source string    `json:"source"`
	Commit string    `json:"commit"`
	URL    string    `json:"url,omitzero"`
	At     time.Time `json:"at,omitzero"`
	Seq    uint64    `json:"seq"`
}

// OutsideState is what other systems said of a task.
type OutsideState struct {
	// Reports counts all of it, Remarks reviews and comments; LastRemark is the newest one's entry.
	Reports    int          `json:"reports"`
	Remarks    int          `json:"remarks,omitzero"`
	LastRemark uint64       `json:"last_remark,omitzero"`
	Pull       *PullState   `json:"pull,omitzero"`
	CI         []ExternalCI `json:"ci,omitzero"`
}

// Clean bounds a report and takes out of its text what is no text. What it is about stays as it is.
func (o *Outside) Clean() {
	for _, s := range []*string{&o.What, &o.URL, &o.Branch, &o.Repo} {
		*s = plainLine(*s, MaxOutsideWord)
	}
	if c := o.CI; c != nil {
		c.Name, c.Said = plainLine(c.Name, MaxOutsideWord), plainLine(c.Said, MaxOutsideWord)
	}
	if p := o.Pull; p != nil {
		p.URL, p.By = plainLine(p.URL, MaxOutsideWord), plainLine(p.By, MaxOutsideWord)
	}
	if m := o.Remark; m != nil {
		m.Author, m.Verdict, m.File = plainLine(m.Author, MaxOutsideWord), plainLine(m.Verdict, MaxOutsideWord), plainLine(m.File, MaxOutsideWord)
		m.Len = len(m.Text)
		m.Text = beginning(strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return visible(r)
		}, strings.ToValidUTF8(m.Text, "\uFFFD")), MaxRemark)
	}
}

// plainLine is at most n bytes of s on one line.
func plainLine(s string, n int) string {
	return beginning(strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return visible(r)
	}, strings.ToValidUTF8(s, "\uFFFD"))), n)
}

// visible drops what controls a terminal or turns the direction of a text.
func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// Line says in one line what was reported. It holds words of strangers.
func (o *Outside) Line() string {
	var b strings.Builder
	b.WriteString(o.Source)
	switch {
	case o.CI != nil:
		fmt.Fprintf(&b, ": check %s %s", o.CI.Name, o.CI.State)
		if o.CI.Said != string(o.CI.State) {
			fmt.Fprintf(&b, " (%s)", o.CI.Said)
		}
		fmt.Fprintf(&b, " at %s", beginning(o.Commit, 8))
	case o.Remark != nil:
		fmt.Fprintf(&b, ": %s of %s on %s", o.Event, o.Remark.Author, o.Pull.Name())
		if o.Remark.Verdict != "" {
			b.WriteString(", " + o.Remark.Verdict)
		}
		if o.Remark.File != "" {
			fmt.Fprintf(&b, ", %s:%d", o.Remark.File, o.Remark.Line)
		}
		if o.Remark.Text != "" {
			b.WriteString(": " + o.Remark.Text)
		}
	case o.Pull != nil:
		fmt.Fprintf(&b, ": pull request %s %s", o.Pull.Name(), o.Pull.State)
		if o.Pull.By != "" {
			b.WriteString(" by " + o.Pull.By)
		}
		if o.Pull.Merge != "" {
			b.WriteString(" as " + beginning(o.Pull.Merge, 8))
		}
	}
	return b.String()
}

// Name is "owner/name#12".
func (p *PullState) Name() string {
	if p == nil {
		return "no pull request"
	}
	return fmt.Sprintf("%s#%d", p.Repo, p.Number)
}

// Text is how the pull request stands, on one line.
func (p *PullState) Text() string {
	text := p.Name()
	if p.State != "" {
		text += " " + string(p.State)
	}
	if p.Merge != "" {
		text += " as " + beginning(p.Merge, 8)
	}
	if p.By != "" {
		text += " by " + p.By
	}
	if p.URL != "" {
		text += ": " + p.URL
	}
	return text
}

// Text is how the check stands, on one line.
func (x *ExternalCI) Text() string {
	text := fmt.Sprintf("%s %s at %s", x.Name, x.State, beginning(x.Commit, 8))
	if x.URL != "" {
		text += ": " + x.URL
	}
	return text
}

// Concerns reports whether what was reported is about this task: its pull request, or the commit that was verified, delivered or merged.
func (t *Task) Concerns(o *Outside) bool {
	if t.Plan == nil {
		return false
	}
	var pull *PullState
	if t.Outside != nil {
		pull = t.Outside.Pull
	}
	if o.Pull != nil && pull != nil && pull.Same(o.Pull) {
		return true
	}
	return o.Commit != "" && (o.Commit == t.Commit || o.Commit == t.DeliveredAs || pull != nil && o.Commit == pull.Merge)
}

// Works reports whether the task is at work on this branch, so that a check may be about a commit that it has not reported yet.
func (t *Task) Works(branch string) bool {
	return t.Plan != nil && branch != "" && t.Plan.Branch == branch && !t.Status.Ended()
}

// ExternalState is the last that was heard of a check on the task's commit, nil when nothing was.
func (t *Task) ExternalState(name string) *ExternalCI {
	if t.Outside == nil || t.Commit == "" {
		return nil
	}
	for i := range t.Outside.CI {
		if x := &t.Outside.CI[i]; x.Name == name && x.Commit == t.Commit {
			return x
		}
	}
	return nil
}

// Missing are the checks that run elsewhere, that the plan requires, and that have not passed yet on the current result.
func (t *Task) Missing() (names []string) {
	if t.Plan == nil || t.Status != Verifying || t.CI == nil || t.Request != nil {
		return nil
	}
	for _, name := range t.Plan.Policy.Require {
		if t.CI[name] != string(CheckPassed) {
			names = append(names, name)
		}
	}
	return names
}

// MissingUntil is when the admin is asked about checks that are missing, zero when none is.
func (t *Task) MissingUntil() time.Time {
	if len(t.Missing()) == 0 {
		return time.Time{}
	}
	within := 2 * time.Hour
	if s := t.Plan.Policy.RequireSec; s > 0 {
		within = time.Duration(s) * time.Second
	}
	return t.CIAt.Add(within)
}

func (b *Board) foldOutside(e *Entry, o *Outside) {
	t := b.touch(e)
	s := OutsideState{}
	if t.Outside != nil {
		s = *t.Outside
	}
	s.Reports++
	if o.Remark != nil {
		s.Remarks++
		s.LastRemark = e.Seq
	}
	if o.Pull != nil {
		s.Pull = s.Pull.next(o.Pull, e.Seq)
	}
	if o.CI != nil {
		s.CI = externals(s.CI, ExternalCI{CIReport: *o.CI, Source: o.Source, Commit: o.Commit, URL: o.URL, At: o.At, Seq: e.Seq}, t.Commit)
	}
	t.Outside = &s
}

// pulled notes the pull request of a delivery.
func (t *Task) pulled(p *PullState, seq uint64) {
	if p == nil {
		return
	}
	s := OutsideState{}
	if t.Outside != nil {
		s = *t.Outside
	}
	own := *p
	own.Seq = seq
	s.Pull = &own
	t.Outside = &s
}

// next is the pull request after one more report of it: a report that is older than what is known changes nothing, and neither does
// one of another pull request while the first is open.
func (p *PullState) next(q *PullState, seq uint64) *PullState {
	n := *q
	n.Seq = seq
	switch {
	case p == nil:
		return &n
	case !p.Same(q):
		if p.State == PullOpen || p.State == PullMerged || n.State == "" {
			return p
		}
		return &n
	case n.State == "", p.State == PullMerged, !n.At.IsZero() && n.At.Before(p.At):
		return p
	}
	if n.URL == "" {
		n.URL = p.URL
	}
	return &n
}

// externals are the checks after one more report: the newest of each name and commit, in the order of their first report. A full list
// gives up the oldest that is not about the commit of now.
func externals(all []ExternalCI, x ExternalCI, now string) []ExternalCI {
	out := make([]ExternalCI, 0, len(all)+1)
	known := false
	for _, o := range all {
		if o.Name == x.Name && o.Commit == x.Commit {
			known = true
			if x.At.IsZero() || !x.At.Before(o.At) {
				o = x
			}
		}
		out = append(out, o)
	}
	if known {
		return out
	}
	out = append(out, x)
	if len(out) > maxExternal {
		drop := 0
		for i := range out {
			if out[i].Commit != now {
				drop = i
				break
			}
		}
		out = append(out[:drop], out[drop+1:]...)
	}
	return out
}
