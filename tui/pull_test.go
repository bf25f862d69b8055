package tui

import (
	"errors"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// outgoingPlan is what the coordinator says that it would send for a story.
func outgoingPlan(s *tuitest.Script, t *tuitest.Story) *amp.PullPlan {
	task := s.Task(t.ID)
	return &amp.PullPlan{
		Repo: "tea/till", At: "https://github.com/tea/till.git", Branch: task.Plan.Branch, Base: task.Plan.BaseBranch, Commit: task.Commit,
		Commits: 3, Title: "Retry with \x1b[31mjitter", BodyBytes: 3120,
	}
}

// A pull request is offered where the coordinator can open one: the bar says what goes where before it is armed, and the screens show the
// address once it is open.
func TestDeliver_pull(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	story := approvedStory(script)
	plan := outgoingPlan(script, story)
	script.SetPull(plan)
	s := start(t, script, 100, 30)
	s.Press("2", "M").WaitFor("pull request: push " + plan.Branch + " to GitHub")
	s.typeText("pull")
	s.Press("enter").WaitFor("3 commits, " + short(plan.Commit) + " the last")
	s.Shows("Open a pull request for "+string(story.ID)+"?", "tea/till at github.com", "branch "+plan.Branch, "into "+plan.Base, "3,120 B of text",
		"Retry with ", "will not  merge · force anything · touch another branch", "type the last four digits of commit")
	if strings.Contains(s.Text(), "\x1b") {
		t.Error("a title of an agent reached the screen as it was")
	}
	tuitest.Golden(t, "decision/100x30-pull", s.Settle())
	s.arm()
	s.typeText(plan.Commit[len(plan.Commit)-4:])
	s.Press("tab", "tab")
	for !strings.Contains(s.Text(), "[ Open ]") {
		s.Press("tab")
	}
	s.Press("enter").WaitFor("runs in 10 s")
	if c := s.last(); c.Command != amp.Deliver || !c.Args.Pull || c.Args.Merge || c.Expects.Hash != plan.Commit || !c.Args.Undo {
		t.Errorf("command = %+v", c)
	}
	story.Delivers(amp.PullState{Repo: "tea/till", Number: 12, State: amp.PullOpen, URL: "https://github.com/tea/till/pull/12"})
	s.WaitFor("is delivered: tea/till#12 https://github.com/tea/till/pull/12")
	s.Press("enter").WaitFor("pull request tea/till#12 open: https://github.com/tea/till/pull/12")
}

// What the coordinator refuses, or cannot say, keeps the bar from being confirmed, in its words.
func TestDeliver_pullRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		set  func(s *tuitest.Script, p *amp.PullPlan)
		want []string
	}{
		"a secret": {
			func(s *tuitest.Script, p *amp.PullPlan) {
				p.Title, p.Refused = "", "the text of the pull request holds what looks like a secret (github-token), and nothing was sent"
				p.Next = "Deliver without --pr, push the branch and open the pull request yourself."
				s.SetPull(p)
			}, []string{"holds what looks like a secret (github-token), and nothing was sent", "Deliver without --pr"},
		},
		"an older coordinator": {
			func(s *tuitest.Script, _ *amp.PullPlan) { s.SetPull(nil) }, []string{"not known: the coordinator answered nothing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := tuitest.NewScript(begin)
			story := approvedStory(script)
			plan := outgoingPlan(script, story)
			x.set(script, plan)
			s := start(t, script, 100, 30)
			s.Press("2", "M").WaitFor("Deliver " + string(story.ID))
			s.typeText("pull")
			s.Press("enter").WaitFor("Open a pull request")
			for _, want := range x.want {
				s.WaitFor("sends     not")
				if text := strings.Join(strings.Fields(s.Text()), " "); !strings.Contains(text, want) {
					t.Errorf("%q is not said:\n%s", want, s.Text())
				}
			}
			s.arm()
			s.typeText(plan.Commit[len(plan.Commit)-4:])
			s.Press("tab", "enter", "tab", "enter")
			s.wantCommands("")
		})
	}
}

// Without [github] there is no such choice, and none can be staged.
func TestDeliver_pullOff(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	story := approvedStory(script)
	s := start(t, script, 80, 24)
	s.Press("2", "M").WaitFor("Deliver " + string(story.ID))
	if strings.Contains(s.Text(), "pull request") {
		t.Errorf("a pull request is offered:\n%s", s.Text())
	}
	m := still(t, script, 80, 24)
	p := proposal{Command: amp.Deliver, TaskID: story.ID, Args: amp.Args{Pull: true}}
	if why := p.off(m.env); !strings.Contains(why, "add [github] to the configuration") {
		t.Errorf("it is off since %q", why)
	}
}

func TestOutgoing_failed(t *testing.T) {
	t.Parallel()
	e := &env{Config: Config{Explain: func(err error) (string, string, string) { return "said: " + err.Error(), "", "" }}}
	o := &outgoing{done: true, err: errors.New("no way")}
	if got := o.rows(e)[0].Items[0]; got != "not known: said: no way" || o.off() == "" {
		t.Errorf("rows = %q, off = %q", got, o.off())
	}
}
