package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// crowd is a scene in which every list is longer than a screen.
func crowd() *tuitest.Script {
	s := refusals()
	for i := range 40 {
		s.NewTask(fmt.Sprintf("Wish %d", i)).Propose()
		s.NewTask(fmt.Sprintf("Stuck %d", i)).Propose().Approve().Dispatch().Escalate(amp.UnknownEscalation, amp.Warning, "it is odd")
		s.NewTask(fmt.Sprintf("Odd %d", i)).Propose().Refused(amp.Problem{Rule: fmt.Sprintf("AMP-%03d", i+1), Field: "type", Message: "is wrong"}, `{}`)
	}
	return s
}

// A list that is longer than its room says which part of it is on the screen, on every screen in the same words; a whole one does not.
func TestList_cut(t *testing.T) {
	t.Parallel()
	part := regexp.MustCompile(`\b\d+-\d+ of [\d,]+\+?`)
	letters := &deadLetters{}
	for i := range 60 {
		letters.all = append(letters.all, Letter{Key: fmt.Sprint(i), MessageID: fmt.Sprint("m", i), Type: "status_update", Why: "nobody took it"})
	}
	synctest.Test(t, func(t *testing.T) {
		for _, size := range [][2]int{{80, 24}, {140, 40}} {
			for _, kind := range []Kind{KindNow, KindTasks, KindInbox, KindPlans, KindHistory, KindErrors, KindFailures, KindEscalations, KindLetters} {
				for _, full := range []bool{true, false} {
					script := tuitest.NewScript(begin)
					if full {
						script = crowd()
					}
					k := walk(t, script, size[0], size[1], func(c *Config) {
						if c.Letters = (&deadLetters{}); full {
							c.Letters = letters
						}
					})
					for i := range 60 {
						if full {
							k.env.keep(failure{What: fmt.Sprint("failure ", i)})
						}
					}
					k.to(Place{Kind: kind})
					before := ansi.Strip(k.seen())
					if got := part.MatchString(before); got != full {
						t.Errorf("%s at %dx%d, full %v: it says which part is on the screen: %v\n%s", kind, size[0], size[1], full, got, k.View())
						continue
					}
					if !full {
						continue
					}
					k.press("G")
					if kind == KindHistory { // straight to the oldest: how many are above is not known
						continue
					}
					last := part.FindString(ansi.Strip(k.seen()))
					from, of, _ := strings.Cut(last, " of ")
					if _, to, _ := strings.Cut(from, "-"); to != of || strings.Contains(before, last) {
						t.Errorf("%s at %dx%d: at the end it says %q", kind, size[0], size[1], last)
					}
				}
			}
		}
	})
}
