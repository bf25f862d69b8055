package tui

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// dumper writes one line for every message that the program handles, for a person who looks for a defect. It never holds up
// the program: what does not fit is counted. What is typed into a text field is left out.
type dumper struct {
	lines chan string
	lost  int // touched by the loop alone
}

// newDumper returns a dumper into a file, nil for an empty name, and what writes until ctx ends.
func newDumper(file string) (*dumper, func(ctx context.Context), error) {
	if file == "" {
		return nil, nil, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the file of TUI_DUMP: %w", err)
	}
	d := &dumper{lines: make(chan string, 4096)}
	return d, func(ctx context.Context) {
		defer f.Close()
		w := bufio.NewWriter(f)
		defer func() { _ = w.Flush() }()
		for {
			select {
			case line := <-d.lines:
				_, _ = w.WriteString(line) // a full disk must not end the program that is looked at
			case <-ctx.Done():
				return
			}
			if len(d.lines) == 0 {
				_ = w.Flush()
			}
		}
	}, nil
}

// note writes a message down. typing says that keys are text.
func (d *dumper) note(now time.Time, msg tea.Msg, typing bool) {
	line := now.UTC().Format("15:04:05.000") + " " + described(msg, typing) + "\n"
	if d.lost > 0 {
		line = fmt.Sprintf("%d lines are missing here\n", d.lost) + line
	}
	select {
	case d.lines <- line:
		d.lost = 0
	default:
		d.lost++
	}
}

// described is a message in one line, without the contents of entries, answers and texts.
func described(msg tea.Msg, typing bool) string {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if typing && msg.Type == tea.KeyRunes || msg.Paste {
			return fmt.Sprintf("key: text of %d characters", len(msg.Runes))
		}
		return fmt.Sprintf("key: %q", msg.String())
	case tea.MouseMsg:
		return fmt.Sprintf("mouse: %s at %d,%d", tea.MouseEvent(msg), msg.X, msg.Y)
	case tea.WindowSizeMsg:
		return fmt.Sprintf("size: %dx%d", msg.Width, msg.Height)
	case batchMsg:
		if n := len(msg.entries); n > 0 {
			return fmt.Sprintf("entries: #%d to #%d, synchronisation %d", msg.entries[0].Seq, msg.entries[n-1].Seq, msg.gen)
		}
	case syncedMsg:
		return fmt.Sprintf("board: at #%d, synchronisation %d", msg.board.Head.Seq, msg.gen)
	case connMsg:
		return fmt.Sprintf("connection: phase %d, %v", msg.phase, msg.err)
	case endedMsg:
		return fmt.Sprintf("answer: %s after %s: %T", msg.r.what, time.Since(msg.r.since).Round(time.Millisecond), msg.msg)
	case pageMsg:
		return fmt.Sprintf("to %T: %T", msg.to, msg.msg)
	}
	return fmt.Sprintf("%T", msg)
}
