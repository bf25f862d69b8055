package tui

import (
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// The states of a decision that are not on every plan, at the sizes of the others: one of two admins, a batch, an edited plan.
func TestDecisionStates_golden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes[:3] {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			shot := func(s *seat, name string) {
				t.Helper()
				tuitest.Golden(t, name+"/"+size.name, s.Settle())
			}
			s := tuitest.NewScript(begin)
			s.NewTask("Alone").Propose()
			s.NewTask("One of two").Propose(func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways }).Approve()
			two := start(t, s, size.w, size.h)
			two.Press("4").WaitFor("Plans ")
			shot(two, "two-admins-list")
			two.goTo(Place{Kind: KindPlan, ID: "T-2026-002"}).WaitFor("Plans › T-2026-002")
			shot(two, "two-admins-plan")

			s = tuitest.NewScript(begin)
			for range 3 {
				s.NewTask("Router property tests").Propose()
			}
			batch := start(t, s, size.w, size.h)
			batch.Press("4").WaitFor("Plans ")
			batch.marks(3).Press("A")
			shot(batch, "batch-bar")

			s = tuitest.NewScript(begin)
			story := s.NewTask("Split the package").Propose()
			edited := start(t, s, size.w, size.h)
			edited.goTo(Place{Kind: KindPlan, ID: string(story.ID)}).WaitFor("Plans › " + string(story.ID))
			edited.Press("n", "e")
			edited.typeText(" slowly")
			shot(edited, "edited-field")
			edited.Press("ctrl+s").WaitFor("approve this revision").Press("enter").Settle()
			shot(edited, "edited-bar")
		})
	}
}
