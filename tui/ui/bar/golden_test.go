package bar

import (
	"testing"

	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
	"arbiter/tui/ui"
)

func TestGolden_bar(t *testing.T) {
	t.Parallel()
	reject := low()
	reject.Title, reject.Confirm, reject.Text, reject.Required = "Reject T-2026-051 r4?", "Reject", "Reason", true
	reject.Templates = []string{"split it", "tests are missing"}
	off := high()
	off.Off = "r5 arrived 4 s ago, d shows what changed"
	for name, tc := range map[string]struct {
		ask  Ask
		keys []string
	}{
		"opened": {high(), nil}, "digits": {high(), []string{"a", "9", "right"}}, "refused": {high(), []string{"right", "enter"}},
		"reason": {reject, []string{"shift+tab", "t", "o", "o", "space", "big"}}, "batch": {batch(), []string{"a", "p"}}, "off": {off, []string{"tab"}},
	} {
		for _, signs := range []*theme.Signs{theme.UTF8, theme.ASCII} {
			th, err := theme.New("dark", theme.ANSI256, signs)
			if err != nil {
				t.Fatal(err)
			}
			b := Open(tc.ask, "", t0)
			run(b, tc.keys...)
			now := later(20)
			if tc.keys == nil {
				now = t0.Add(ArmDelay / 4)
			}
			f := ui.NewFrame(th, 80, 16).Put(0, b.Render(th, 80, 16, now))
			tuitest.Golden(t, name+"-"+signs.Name, tuitest.Draw(t, f.String(), 80, 16))
		}
	}
}
