package tuitest

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// echo shows what it was sent.
type echo struct {
	keys  []string
	size  tea.WindowSizeMsg
	ticks int
}

type tickMsg struct{}

func (e *echo) Init() tea.Cmd { return nil }

func (e *echo) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		e.size = msg
	case tea.KeyMsg:
		e.keys = append(e.keys, strings.Trim(strconv.Quote(msg.String()), "\""))
		switch msg.String() {
		case "q":
			return e, tea.Quit
		case "t":
			return e, tea.Tick(time.Hour, func(time.Time) tea.Msg { return tickMsg{} })
		}
	case tea.MouseMsg:
		e.keys = append(e.keys, strings.Trim(strconv.Quote(msg.String()), "\""))
	case tickMsg:
		e.ticks++
	}
	return e, nil
}

func (e *echo) View() string {
	text := "\x1b[1mkeys\x1b[0m " + strings.Join(e.keys, ",")
	if e.ticks > 0 {
		text += " ticked"
	}
	rows := []string{text}
	for len(rows) < e.size.Height {
		rows = append(rows, "")
	}
	return strings.Join(rows, "\n")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	s := Start(t, &echo{}, 60, 4)
	s.Press("j", "G", "enter", "esc", "ctrl+d", "shift+tab", "pgup").
		Shows("keys j,G,enter,esc,ctrl+d,shift+tab,pgup")
	s.Burst("jj").Shows("pgup,jj").Hides("jjj")
	if !s.Mode(1049) {
		t.Error("the alternate screen is off")
	}
	if w, h := s.Resize(70, 3).Size(); w != 70 || h != 3 {
		t.Errorf("size = %dx%d, want 70x3", w, h)
	}
	s.Press("q")
	m, err := s.Final()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*echo).size; got.Width != 70 || got.Height != 3 {
		t.Errorf("the program saw %v, want 70x3", got)
	}
}

func TestScreen_mouseAndPaste(t *testing.T) {
	t.Parallel()
	s := Start(t, &echo{}, 100, 4)
	s.Paste("A\r").Shows(`[A\r]`)
	s.Click(3, 2).Shows("left press", "left release")
	s.Wheel(3, 2, true).Shows("wheel down")
}

func TestScreen_bubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := Start(t, &echo{}, 40, 4)
		s.Press("t").Hides("ticked")
		time.Sleep(time.Hour)
		s.WaitFor("ticked")
		if took := time.Since(start); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("an hour took %v", took)
		}
	})
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	d := Draw(t, "\x1b[1mab\x1b[0m \x1b[38;2;1;2;3;7mc\x1b[0m\nxy漢", 5, 2)
	want := "|ab c |\n:aa b\n|xy漢 |\na = bold\nb = reverse #010203\n"
	if got := d.Snapshot(); got != want {
		t.Errorf("snapshot = %q, want %q", got, want)
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	p := Exec(t, exec.Command("/bin/sh", "-c", `printf 'ready\033[?2004h\007'; read x; echo "got $x"; exit 3`), 30, 5)
	p.WaitFor("ready").WaitMode(2004, true)
	p.Type("hello").Press("enter").WaitFor("got hello")
	if err := p.Exit(); err == nil || p.Cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit = %v, want code 3", err)
	}
	if p.Bells() != 1 {
		t.Errorf("bells = %d, want 1", p.Bells())
	}
}
