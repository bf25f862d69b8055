package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
)

// The confidence of a reviewer that is sure, and of one that is not.
const (
	sure   = 0.95
	unsure = 0.62
)

// review judges the commit in the turn's folder: the diff, the repository's check, and inputs of the reviewer's own.
func (a *agent) review() error {
	var m message
	if err := json.Unmarshal(a.in.Message, &m); err != nil || m.Type != amp.ReviewRequest {
		return fmt.Errorf("the message is no review_request (%v)", err)
	}
	var d amp.Dispatch
	dispatches := a.messages(amp.TaskDispatch)
	if len(dispatches) == 0 {
		return a.refuse("the task_dispatch is not in the context")
	}
	if err := json.Unmarshal(dispatches[len(dispatches)-1].Payload, &d); err != nil {
		return fmt.Errorf("read the task_dispatch: %w", err)
	}
	name, _ := d.TechConstraints[constraint].(string)
	s := scenarioOf(name)
	if s == nil {
		return a.refuse("tech_constraints.%s is %q, which is none of the demo's scenarios", constraint, name)
	}
	a.ack(nil)
	r := &reviewer{agent: a, s: s, p: partOf(s.part), d: &d, subtask: a.reviewed(&d)}
	return r.judge()
}

// reviewed is the index of the subtask whose result is under review.
func (a *agent) reviewed(d *amp.Dispatch) int {
	results := a.messages(amp.TaskResult)
	if len(results) == 0 {
		return 0
	}
	var r amp.Result
	if json.Unmarshal(results[len(results)-1].Payload, &r) != nil {
		return 0
	}
	return max(0, slices.IndexFunc(d.Subtasks, func(st amp.Subtask) bool { return st.SubtaskID == r.SubtaskID }))
}

// reviewer is the review of one commit.
type reviewer struct {
	*agent
	s       *Scenario
	p       *part
	d       *amp.Dispatch
	subtask int
	issues  []amp.Issue
}

func (r *reviewer) judge() error {
	base, err := r.git("merge-base", "HEAD", defaultBranch)
	if err != nil {
		return err
	}
	var results []amp.CriterionResult
	for i, look := range []func(base string) (bool, string, error){r.runCheck, r.runProbes, r.readDiff} {
		passed, evidence, err := look(base)
		if err != nil {
			return err
		}
		if i < len(r.d.AcceptanceCriteria) {
			results = append(results, amp.CriterionResult{Criterion: r.d.AcceptanceCriteria[i], Passed: &passed, Evidence: evidence})
		}
	}
	v := &amp.Verdict{Decision: amp.Approved, CriteriaResults: results, Issues: r.issues, Confidence: sure}
	if len(r.issues) > 0 {
		v.Decision = amp.Rejected
	}
	if r.s.behaviour.unsure {
		v.Confidence = unsure
		v.ArchitectureNotes = "Regular plurals only: an irregular one, like knives, would come out wrong, and the criteria do not say."
	}
	r.final(v)
	return nil
}

// runCheck runs the repository's own check.
func (r *reviewer) runCheck(string) (bool, string, error) {
	passed, out, err := r.check(r.p)
	if err != nil {
		return false, "", err
	}
	r.step("%s", lastLine(out))
	if !passed {
		r.find(amp.IssueCritical, "sh check.sh "+r.p.name+" fails: "+lastLine(out), r.p.advice)
	}
	return passed, out, nil
}

// runProbes tries inputs that no test has.
func (r *reviewer) runProbes(string) (bool, string, error) {
	var evidence []string
	passed := true
	for _, pr := range r.p.probes {
		if r.subtask < pr.from {
			continue
		}
		out, _, err := r.run(pr.in+"\n", "awk", "-f", r.p.file())
		if err != nil {
			return false, "", err
		}
		line := fmt.Sprintf("%q gives %q", pr.in, out)
		if out != pr.out {
			line += fmt.Sprintf(", not %q", pr.out)
			if passed {
				r.find(amp.IssueMajor, r.p.flaw+": "+line, r.p.advice)
			}
			passed = false
		}
		r.step("tries %s", line)
		evidence = append(evidence, line)
	}
	return passed, strings.Join(evidence, "; "), nil
}

// readDiff looks at what changed.
func (r *reviewer) readDiff(base string) (bool, string, error) {
	r.step("$ git diff %.12s HEAD", base)
	out, err := r.git("diff", "--name-only", base, "HEAD")
	if err != nil {
		return false, "", err
	}
	files := strings.Fields(out)
	if len(files) == 0 {
		r.find(amp.IssueCritical, "nothing changed", r.p.advice)
		return false, "the diff is empty", nil
	}
	passed := true
	for _, f := range files {
		if !slices.Contains(r.p.files(), f) {
			passed = false
			r.issues = append(r.issues, amp.Issue{
				Severity: amp.IssueMajor, File: f, Line: 1, Description: "this file is none of the task's", SuggestedFix: "take the change back",
			})
		}
	}
	return passed, "git diff --name-only: " + strings.Join(files, ", "), nil
}

// find adds an issue about the part's line.
func (r *reviewer) find(severity amp.IssueSeverity, description, fix string) {
	line := 1
	if raw, err := os.ReadFile(filepath.Join(r.in.Dir, filepath.FromSlash(r.p.file()))); err == nil {
		line = 1 + max(0, slices.IndexFunc(strings.Split(string(raw), "\n"), r.p.known))
	}
	r.issues = append(r.issues, amp.Issue{Severity: severity, File: r.p.file(), Line: line, Description: description, SuggestedFix: fix})
}
