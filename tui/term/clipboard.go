package term

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// clipboardTime is how long a program of the clipboard may take.
const clipboardTime = 2 * time.Second

// ClipboardTool returns the program that takes a text for the clipboard of this machine, nil where there is none or where the
// terminal is on another machine: over ssh the clipboard that counts is that of the terminal.
func ClipboardTool(env func(string) string, look func(string) (string, error), k Kind) []string {
	if k.SSH {
		return nil
	}
	var tools [][]string
	switch {
	case runtime.GOOS == "darwin":
		tools = [][]string{{"pbcopy"}}
	case env("WAYLAND_DISPLAY") != "":
		tools = [][]string{{"wl-copy"}}
	}
	if env("DISPLAY") != "" {
		tools = append(tools, []string{"xclip", "-selection", "clipboard"}, []string{"xsel", "--input", "--clipboard"})
	}
	for _, t := range tools {
		if _, err := look(t[0]); err == nil {
			return t
		}
	}
	return nil
}

// RunClipboard hands a text to such a program and waits until it took it, at most two seconds. The program may go on in the
// background to serve the clipboard.
func RunClipboard(tool []string, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), clipboardTime)
	defer cancel()
	c := exec.CommandContext(ctx, tool[0], tool[1:]...)
	c.Stdin = strings.NewReader(text)
	if err := c.Run(); err != nil {
		return fmt.Errorf("run %s: %w", tool[0], err)
	}
	return nil
}
