package ui

import (
	"strconv"

	tea "github.com/charmbracelet/bubbletea"
)

// Palette is a picker over everything that can be done or opened, with a history of what was typed.
type Palette struct {
	*Picker
	history []string
	back    int // how far back in the history the query is, 0: not
	draft   string
}

const maxHistory = 50

// NewPalette returns a palette over choices; history is what [Palette.History] returned before.
func NewPalette(choices []Choice, history []string) *Palette {
	return &Palette{Picker: NewPicker("Command", choices), history: history}
}

// History returns the queries that led to a choice, the oldest first, at most fifty.
func (p *Palette) History() []string { return p.history }

// Key handles one key like [Picker.Key]; up on the first row goes back through the history, down forward again.
func (p *Palette) Key(k tea.KeyMsg) Picked {
	switch name := k.String(); {
	case name == "up" && p.at == 0 && p.back < len(p.history):
		if p.back == 0 {
			p.draft = p.Query()
		}
		p.back++
		p.SetQuery(p.history[len(p.history)-p.back])
		return PickMoved
	case name == "down" && p.back > 0:
		p.back--
		if p.back == 0 {
			p.SetQuery(p.draft)
		} else {
			p.SetQuery(p.history[len(p.history)-p.back])
		}
		return PickMoved
	}
	got := p.Picker.Key(k)
	if got == PickChosen {
		p.remember(p.Query())
	}
	return got
}

func (p *Palette) remember(q string) {
	p.back = 0
	if q == "" || len(p.history) > 0 && p.history[len(p.history)-1] == q {
		return
	}
	p.history = append(p.history, q)
	if len(p.history) > maxHistory {
		p.history = p.history[len(p.history)-maxHistory:]
	}
}

func counted(n, of int) string {
	if n == of {
		return strconv.Itoa(of)
	}
	return strconv.Itoa(n) + " of " + strconv.Itoa(of)
}
