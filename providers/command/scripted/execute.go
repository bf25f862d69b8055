package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// fakeCommit and fakeFile are what an untrue report claims.
const (
	fakeCommit = "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"
	fakeFile   = "lib/calendar.awk"
)

// execute works on a task_dispatch.
func (a *agent) execute() error {
	var m message
	var d amp.Dispatch
	if err := json.Unmarshal(a.in.Message, &m); err != nil || m.Type != amp.TaskDispatch {
		return fmt.Errorf("the message is no task_dispatch (%v)", err)
	}
	if err := json.Unmarshal(m.Payload, &d); err != nil {
		return fmt.Errorf("read the task_dispatch: %w", err)
	}
	name, _ := d.TechConstraints[constraint].(string)
	s := scenarioOf(name)
	if s == nil {
		return a.refuse("tech_constraints.%s is %q, which is none of the demo's scenarios", constraint, name)
	}
	if s.behaviour.silent {
		for {
			time.Sleep(time.Hour) // neither ACK nor a word, until it is killed
		}
	}
	if len(d.AcceptanceCriteria) == 0 {
		return a.refuse("there is no acceptance criterion; please complete the dispatch")
	}
	a.ack(d.AcceptanceCriteria)
	e := &executor{agent: a, s: s, p: partOf(s.part), d: &d}
	e.subtask = max(0, slices.IndexFunc(d.Subtasks, func(st amp.Subtask) bool { return st.SubtaskID == a.in.Turn.SubtaskID }))
	return e.work()
}

// executor is the work on one dispatch.
type executor struct {
	*agent
	s       *Scenario
	p       *part
	d       *amp.Dispatch
	subtask int
	start   string // the commit at which the turn began
}

func (e *executor) work() error {
	var err error
	if e.start, err = e.git("rev-parse", "HEAD"); err != nil {
		return err
	}
	e.step("reads %s at %s", e.p.file(), e.start[:12])
	line, err := e.choose()
	if err != nil {
		return err
	}
	if err := e.edit(line); err != nil {
		return e.giveUp(err)
	}
	passed, out, err := e.check(e.p)
	if err != nil {
		return err
	}
	e.note("check", e.p.test(), lastLine(out))
	if e.s.behaviour.strays && e.guidance() == "" {
		if err := e.stray(); err != nil {
			return err
		}
	} else if e.s.behaviour.commits {
		if err := e.commit(); err != nil {
			return err
		}
	}
	return e.report(passed)
}

// choose is the line to write: the good one, or what the scenario's executor takes for it.
func (e *executor) choose() (string, error) {
	rejected, last, err := e.rejections()
	if err != nil {
		return "", err
	}
	good := e.p.right[min(e.subtask, len(e.p.right)-1)]
	switch b := e.s.behaviour; {
	case b.stubborn && e.guidance() == "":
		return e.p.wrong[rejected%len(e.p.wrong)], nil
	case b.stubborn:
		e.step("follows the guidance: %s", e.guidance())
	case b.careless && rejected == 0:
		return e.p.wrong[0], nil
	case last != nil:
		i := slices.IndexFunc(last.Issues, func(i amp.Issue) bool { return i.File == e.p.file() })
		if i >= 0 && e.p.known(last.Issues[i].SuggestedFix) {
			e.step("works on the finding in line %d: %s", last.Issues[i].Line, last.Issues[i].Description)
			return last.Issues[i].SuggestedFix, nil
		}
	}
	return good, nil
}

// guidance is the admin's note for this dispatch, which the coordinator puts at the end of the description; what the checks have
// to say stands there too and is no guidance.
func (e *executor) guidance() string {
	_, text, found := strings.Cut(e.d.Description, "\n\nGuidance: ")
	if !found || strings.HasPrefix(text, "The report was compared") || strings.HasPrefix(text, "CI failed") {
		return ""
	}
	return text
}

// rejections are how many rejected verdicts this task has had, and the last one. The context holds those of the last round only;
// the home of the task remembers the others by their msg_id, so that a repeated turn does not count twice.
func (e *executor) rejections() (int, *amp.Verdict, error) {
	file := filepath.Join(e.in.Home, "rejections")
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return 0, nil, fmt.Errorf("read what was rejected before: %w", err)
	}
	ids := strings.Fields(string(old))
	var last *amp.Verdict
	for _, m := range e.messages(amp.ReviewVerdict) {
		var v amp.Verdict
		if err := json.Unmarshal(m.Payload, &v); err != nil || v.Decision != amp.Rejected {
			continue
		}
		last = &v
		if !slices.Contains(ids, m.MsgID) {
			ids = append(ids, m.MsgID)
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(ids, "\n")), 0o600); err != nil {
		return 0, nil, fmt.Errorf("remember what was rejected: %w", err)
	}
	return len(ids), last, nil
}

// edit puts the line in the place of the one that the task is about, and adds the subtask's test.
func (e *executor) edit(line string) error {
	name := filepath.Join(e.in.Dir, filepath.FromSlash(e.p.file()))
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := strings.Split(string(raw), "\n")
	at := slices.IndexFunc(lines, e.p.known)
	if at < 0 {
		return fmt.Errorf("%s has no line that I know how to mend", e.p.file())
	}
	if lines[at] != line {
		lines[at] = line
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			return err
		}
		e.note("edit", e.p.file(), "line "+strconv.Itoa(at+1)+" is now "+line)
	}
	if e.subtask >= len(e.p.adds) || e.p.adds[e.subtask] == "" {
		return nil
	}
	return e.addTest(e.p.adds[e.subtask])
}

func (e *executor) addTest(test string) error {
	name := filepath.Join(e.in.Dir, filepath.FromSlash(e.p.test()))
	raw, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(raw), test) {
		return err
	}
	if err := os.WriteFile(name, append(raw, test+"\n"...), 0o644); err != nil {
		return err
	}
	e.note("edit", e.p.test(), "one test more: "+test)
	return nil
}

// commit commits the work on the branch that is checked out.
func (e *executor) commit() error {
	if _, err := e.git(append([]string{"add", "--"}, e.p.files()...)...); err != nil {
		return err
	}
	if _, exit, err := e.run("", "git", "diff", "--cached", "--quiet"); err != nil || exit == 0 {
		return err // nothing to commit: an earlier turn did it
	}
	ok, err := e.try("commit", "-q", "-m", e.s.Title)
	if err == nil && ok {
		e.note("commit", e.p.file(), e.s.Title)
	}
	return err
}

// stray goes for the default branch by every way it knows. What is refused is refused; it reports as if nothing had been.
func (e *executor) stray() error {
	for _, args := range [][]string{
		append([]string{"add", "--"}, e.p.files()...),
		{"checkout", defaultBranch},
		{"commit", "-q", "-m", e.s.Title},
		{"update-ref", "refs/heads/" + defaultBranch, "HEAD"},
		{"branch", "-f", defaultBranch, "HEAD"},
		{"push", ".", "HEAD:refs/heads/" + defaultBranch},
	} {
		if _, err := e.try(args...); err != nil {
			return err
		}
	}
	e.note("commit", e.p.file(), "tried to bring the work to "+defaultBranch)
	return nil
}

// report says what was done, as git shows it; an untrue report says something else.
func (e *executor) report(passed bool) error {
	r := amp.Result{SubtaskID: e.d.Subtasks[e.subtask].SubtaskID, CompletionStatus: amp.Complete, WorkLog: e.log}
	var err error
	if r.DiffSummary, err = e.changes(); err != nil {
		return err
	}
	if r.CommitHash, err = e.committed(); err != nil {
		return err
	}
	if e.s.behaviour.lies && !e.caught() {
		r.CommitHash = fakeCommit
		r.DiffSummary.FilesChanged = append(r.DiffSummary.FilesChanged, fakeFile)
		r.DiffSummary.LinesAdded += 40
	}
	r.SelfAssessment = e.assess(passed)
	e.final(&r)
	return nil
}

// committed is the commit that holds all of the work, empty when there is none or something is not committed.
func (e *executor) committed() (string, error) {
	left, err := e.git("status", "--porcelain")
	if err != nil || left != "" {
		return "", err
	}
	head, err := e.git("rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	base, err := e.git("merge-base", "HEAD", defaultBranch)
	if err != nil || base == head {
		return "", err
	}
	return head, nil
}

// changes are the files and lines that differ from the commit at which the turn began.
func (e *executor) changes() (amp.DiffSummary, error) {
	d := amp.DiffSummary{FilesChanged: []string{}}
	out, err := e.git("diff", "--numstat", e.start)
	if err != nil {
		return d, err
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(f) != 3 {
			continue
		}
		added, _ := strconv.Atoi(f[0])
		removed, _ := strconv.Atoi(f[1])
		d.FilesChanged = append(d.FilesChanged, f[2])
		d.LinesAdded += added
		d.LinesRemoved += removed
	}
	return d, nil
}

// caught reports whether an untrue report of this task came back.
func (e *executor) caught() bool {
	return slices.ContainsFunc(e.messages(amp.TaskResult), func(m message) bool {
		var r amp.Result
		return json.Unmarshal(m.Payload, &r) == nil && r.CommitHash == fakeCommit
	})
}

// assess goes criterion by criterion. What only a reviewer's own inputs can show stays open (AMP-079).
func (e *executor) assess(passed bool) amp.SelfAssessment {
	yes := true
	s := amp.SelfAssessment{
		CriteriaMet: make([]*bool, len(e.d.AcceptanceCriteria)), Notes: make([]string, len(e.d.AcceptanceCriteria)),
	}
	for i := range s.CriteriaMet {
		switch i {
		case 0:
			s.CriteriaMet[i], s.Notes[i] = &passed, "the check ran after the edit"
		case 1:
			s.Notes[i] = "the tests say nothing about every case; please look"
		default:
			s.CriteriaMet[i], s.Notes[i] = &yes, "nothing else was touched"
		}
	}
	return s
}

// giveUp reports that the work cannot be done.
func (e *executor) giveUp(why error) error {
	e.note("stop", e.p.file(), why.Error())
	changed, err := e.changes()
	if err != nil {
		return err
	}
	e.final(&amp.Result{
		SubtaskID: e.d.Subtasks[e.subtask].SubtaskID, CompletionStatus: amp.Failed, DiffSummary: changed, WorkLog: e.log,
		SelfAssessment: amp.SelfAssessment{
			CriteriaMet: make([]*bool, len(e.d.AcceptanceCriteria)), Notes: make([]string, len(e.d.AcceptanceCriteria)),
		},
		Blockers: []string{why.Error()},
	})
	return nil
}
