package editor

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Command is how the editor is called: $VISUAL, else $EDITOR, else vi, at a line where it takes one.
func Command(getenv func(string) string, file string, line int) []string {
	argv := strings.Fields(getenv("VISUAL"))
	if len(argv) == 0 {
		argv = strings.Fields(getenv("EDITOR"))
	}
	if len(argv) == 0 {
		argv = []string{"vi"}
	}
	if line > 0 {
		switch filepath.Base(argv[0]) {
		case "vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg":
			argv = append(argv, "+"+strconv.Itoa(line))
		case "hx", "helix":
			return append(argv, file+":"+strconv.Itoa(line))
		case "code", "codium":
			return append(argv, "--goto", file+":"+strconv.Itoa(line))
		}
	}
	return append(argv, file)
}
