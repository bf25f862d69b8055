package tui

import (
	"strings"

	"arbiter/amp"
)

// wish asks for the fields of a new wish, one after the other, and for the word that sends it. What was typed is kept as in the form.
func (p *plain) wish(f *wishForm) error {
	ask := true
	for {
		if ask {
			given, err := p.wishFields(f)
			f.keep()
			if err != nil || !given {
				if err == nil {
					p.say("Cancelled: nothing was sent, and what you typed is kept.")
				}
				p.e.CloseSheet()
				return err
			}
		}
		w := f.wish()
		p.blank()
		p.quote("The wish:", w.Text, 0)
		p.say("Repository: %s.", quoted(w.Repo))
		if w.Branch != "" {
			p.say("Branch: %s.", quoted(w.Branch))
		}
		if w.Risk != "" {
			p.say("Risk: at least %s.", w.Risk)
		}
		p.say("A planner makes a plan of it; nothing starts before you approve that.")
		yes, err := p.sure("send it", "wish")
		if err != nil || !yes {
			if err == nil {
				p.say("Cancelled: nothing was sent, and what you typed is kept.")
			}
			p.e.CloseSheet()
			return err
		}
		p.launch(f.send())
		p.settle()
		if p.e.sheet != sheet(f) {
			return nil
		}
		ask = false
		for i, why := range f.wrong {
			if why == "" {
				continue
			}
			ask = ask || i < wishFields
			p.say("It was not sent: %s", sentence(spoken(why)))
		}
	}
}

// wishFields asks for each field; false when the person would rather not.
func (p *plain) wishFields(f *wishForm) (bool, error) {
	for _, q := range []struct {
		field    int
		label    string
		required bool
	}{{wishText, "what you want done", true}, {wishRepo, "repository", true}, {wishBranch, "branch, else one named after the task", false}} {
		text, given, err := p.text(q.label, f.fields[q.field].Text(), nil, q.required)
		if err != nil || !given {
			return false, err
		}
		f.fields[q.field].SetText(text)
	}
	for {
		answer, err := p.ask("Risk at least low, medium or high, or an empty line to leave it to the planner:")
		if err != nil {
			return false, err
		}
		answer = strings.ToLower(answer)
		if answer == "cancel" {
			return false, nil
		}
		for i, r := range wishRisks {
			if answer == string(r) {
				f.risk = i
				return true, nil
			}
		}
		p.say("The risk is %s, %s or %s.", amp.Low, amp.Medium, amp.High)
	}
}
