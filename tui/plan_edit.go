package tui

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/pelletier/go-toml/v2"

	"arbiter/amp"
	"arbiter/amp/plantext"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// writePlan is a plan as text for an editor, with a header that says what will happen to it. What an edit does not change is not
// in it.
func writePlan(p *amp.Plan) ([]byte, error) {
	t := plantext.Of(p)
	t.Wish, t.Reasons, t.Repo, t.BaseBranch, t.BaseCommit = "", "", "", "", ""
	body, err := t.Marshal()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Plan of %s, revision %d, content %s.\n", p.TaskID, p.Revision, hashEnds(p.Hash))
	fmt.Fprintf(&b, "# Save and leave: the change is shown against r%d and sent as r%d when you confirm it.\n", p.Revision, p.Revision+1)
	b.WriteString("# Leave without a change, or with an empty file, and nothing happens.\n" +
		"# Repository, base and policy are set by the coordinator; a title or branch of the wish stands.\n" +
		"# risk_level is low, medium or high; it is never lowered below the wish. No turns, no wall: the configured bounds.\n" +
		"# A subtask with the id of another revision is the same step; leave the id empty for a new one.\n\n")
	b.Write(body)
	return b.Bytes(), nil
}

// planError is what is wrong with an edited plan, and in which line, 0 when no line is to blame.
type planError struct {
	Line int
	What string
}

// Error names the line.
func (e *planError) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

// readPlan makes a plan of an edited text, with all that was not in the text taken from the plan that was edited. The
// error is a [*planError].
func readPlan(text []byte, from *amp.Plan) (*amp.Plan, error) {
	var t plantext.Text
	dec := toml.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, tomlError(err)
	}
	p, err := t.Plan()
	if err != nil {
		return nil, &planError{lineOf(text, "wall", 1), err.Error()}
	}
	p.TaskID, p.Revision, p.Author, p.Hash, p.Policy = from.TaskID, from.Revision, from.Author, from.Hash, from.Policy
	p.Wish, p.Reasons, p.Repo, p.BaseBranch, p.BaseCommit = from.Wish, from.Reasons, from.Repo, from.BaseBranch, from.BaseCommit
	p.Title, p.Branch, p.Description = strings.TrimSpace(p.Title), strings.TrimSpace(p.Branch), strings.TrimRight(p.Description, "\n")
	for i := range p.Subtasks {
		p.Subtasks[i].SubtaskID = strings.TrimSpace(p.Subtasks[i].SubtaskID)
		p.Subtasks[i].Description = strings.TrimRight(p.Subtasks[i].Description, "\n")
	}
	if err := judgePlanText(p, text); err != nil {
		return nil, err
	}
	return p, nil
}

// tomlError finds the line of an error of the format.
func tomlError(err error) error {
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
		line, _ := e.Errors[0].Position()
		return &planError{line, "there is no field " + strings.Join(e.Errors[0].Key(), ".") + " in a plan"}
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := e.Position()
		return &planError{line, strings.TrimPrefix(e.Error(), "toml: ")}
	}
	return &planError{What: err.Error()}
}

// judgePlanText finds what the coordinator would refuse, so that it is said while the text is at hand.
func judgePlanText(p *amp.Plan, text []byte) error {
	fail := func(mark string, n int, what string) error { return &planError{lineOf(text, mark, n), what} }
	switch p.RiskLevel {
	case amp.Low, amp.Medium, amp.High:
	default:
		return fail("risk_level", 1, fmt.Sprintf("risk_level is %q, not low, medium or high", p.RiskLevel))
	}
	switch {
	case len(p.Subtasks) == 0:
		return &planError{What: "a plan needs a subtask"}
	case len(p.AcceptanceCriteria) == 0:
		return fail("acceptance_criteria", 1, "a plan needs a criterion")
	case min(p.Budget.Turns, p.Budget.WallSec, p.Budget.Tokens) < 0 || p.Budget.CostUSD < 0:
		return fail("[budget]", 1, "a budget is not negative")
	}
	for i, c := range p.AcceptanceCriteria {
		if strings.TrimSpace(c) == "" {
			return fail("acceptance_criteria", 1, fmt.Sprintf("criterion %d is empty", i+1))
		}
	}
	seen := map[string]bool{}
	for i, s := range p.Subtasks {
		switch {
		case strings.TrimSpace(s.Description) == "":
			return fail("[[subtasks]]", i+1, fmt.Sprintf("subtask %d has no description", i+1))
		case s.EstimatedLines < 0:
			return fail("[[subtasks]]", i+1, fmt.Sprintf("subtask %d has a negative number of lines", i+1))
		case s.SubtaskID != "" && seen[s.SubtaskID]:
			return fail("[[subtasks]]", i+1, fmt.Sprintf("subtask id %s is there twice", s.SubtaskID))
		}
		seen[s.SubtaskID] = true
	}
	return nil
}

// lineOf is the line of the n-th line that begins with mark, 0 when there is none.
func lineOf(text []byte, mark string, n int) int {
	for i, l := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), mark) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// editedMsg is the text that came back from the editor.
type editedMsg struct {
	hash string // of the plan that was edited
	text []byte
	err  error
}

func (p *planPage) draftKey() string { return "plan " + string(p.id) }

// editAll opens the whole plan in the person's editor. A text that was not valid is opened again as it was left.
func (p *planPage) editAll() tea.Cmd {
	t := p.task()
	if t == nil || t.Plan == nil {
		return nil
	}
	text, err := writePlan(t.Plan)
	if err != nil {
		p.e.Fail(err)
		return nil
	}
	line := 0
	if kept := p.e.desk.draft(p.draftKey()); kept != "" {
		text = []byte(kept)
		var bad *planError
		if _, err := readPlan(text, t.Plan); errors.As(err, &bad) {
			line = bad.Line
		}
	}
	hash := t.Plan.Hash
	return p.e.edit(string(p.id)+".toml", text, line, func(got []byte, err error) tea.Msg { return pageMsg{p, editedMsg{hash, got, err}} })
}

// edited takes the text back: it is never lost, whatever is wrong with it.
func (p *planPage) edited(m editedMsg) tea.Cmd {
	e, t := p.e, p.task()
	if m.err != nil {
		if len(bytes.TrimSpace(m.text)) > 0 {
			e.desk.keep(p.draftKey(), string(m.text))
		}
		e.Fail(fmt.Errorf("edit the plan of %s: %w", p.id, m.err))
		return nil
	}
	if len(bytes.TrimSpace(m.text)) == 0 {
		e.desk.keep(p.draftKey(), "")
		e.Toast(theme.Time, "the text is empty: nothing happens")
		return nil
	}
	e.desk.keep(p.draftKey(), string(m.text))
	if t == nil || t.Plan == nil {
		e.Toast(theme.Time, "there is no plan any more: the text is kept")
		return nil
	}
	plan, err := readPlan(m.text, t.Plan)
	if err != nil {
		e.Fail(fmt.Errorf("%w; the text is kept, E opens it again", err))
		return nil
	}
	if m.hash != t.Plan.Hash {
		e.Toast(theme.Time, fmt.Sprintf("%s arrived while you edited: compare before you send", rev(t)))
	}
	return p.propose(plan, func() { e.desk.keep(p.draftKey(), "") })
}

// propose asks what becomes of an edited plan: the next revision that waits, or that revision and its approval at once.
func (p *planPage) propose(plan *amp.Plan, sent func()) tea.Cmd {
	e, t := p.e, p.task()
	t.Complete(plan, e.Admin)
	plan.Hash = plan.ContentHash()
	changes := planDelta(t.Plan, plan)
	if len(changes) == 0 {
		sent()
		e.Toast(theme.Time, "nothing was changed: nothing is sent")
		return nil
	}
	revise := proposal{Command: amp.Revise, TaskID: p.id, Args: amp.Args{Plan: plan}, Changes: changes}
	approve := revise
	approve.Command = amp.Approve
	after := func() tea.Cmd {
		sent()
		return nil
	}
	if whyNot(t, amp.Approve) != "" {
		return e.decideThen(revise, after)
	}
	title := fmt.Sprintf("Your change to %s of %s becomes r%d", rev(t), p.id, plan.Revision)
	return e.choose(title, []ui.Choice{
		{ID: "approve", Text: "approve this revision…", Hint: "revision and approval in one step", Off: approve.off(e)},
		{ID: "revise", Text: "send it as a revision…", Hint: "it waits for an approval of its own", Off: revise.off(e)},
	}, func(id string) tea.Cmd {
		if id == "approve" {
			return e.decideThen(approve, after)
		}
		return e.decideThen(revise, after)
	})
}

// editPart edits the subtask or the criterion under the cursor in a field; the result is a revision like any other.
func (p *planPage) editPart() tea.Cmd {
	if s, i, ok := p.subtask(); ok {
		key := p.draftKey() + " " + s.SubtaskID
		return p.e.write(fmt.Sprintf("S%d of %s", i+1, p.id), "becomes a new revision", key, s.Description, func(text string) tea.Cmd {
			return p.withPart(text, key, func(pl *amp.Plan) {
				pl.Subtasks = slices.Clone(pl.Subtasks)
				if i < len(pl.Subtasks) {
					pl.Subtasks[i].Description = text
				}
			})
		})
	}
	if c, i, ok := p.criterion(); ok {
		key := p.draftKey() + " c" + strconv.Itoa(i)
		return p.e.write(fmt.Sprintf("Criterion %d of %s", i+1, p.id), "becomes a new revision", key, c, func(text string) tea.Cmd {
			return p.withPart(text, key, func(pl *amp.Plan) {
				pl.AcceptanceCriteria = slices.Clone(pl.AcceptanceCriteria)
				if i < len(pl.AcceptanceCriteria) {
					pl.AcceptanceCriteria[i] = text
				}
			})
		})
	}
	p.e.Toast(theme.Time, "stand on a subtask or a criterion to edit it; E edits the whole plan")
	return nil
}

// withPart proposes the plan with one part changed.
func (p *planPage) withPart(text, key string, change func(pl *amp.Plan)) tea.Cmd {
	t := p.task()
	switch {
	case t == nil || t.Plan == nil:
		return nil
	case text == "":
		p.e.Toast(theme.Time, "an empty part is not sent; E takes parts away")
		return nil
	}
	plan := *t.Plan
	plan.TechConstraints = maps.Clone(plan.TechConstraints)
	change(&plan)
	return p.propose(&plan, func() { p.e.desk.keep(key, "") })
}
