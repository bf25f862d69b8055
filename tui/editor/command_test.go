package editor

import (
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		visual, editor string
		line           int
		want           string
	}{
		"nothing set":   {"", "", 0, "vi f.toml"},
		"EDITOR":        {"", "nano -w", 7, "nano -w +7 f.toml"},
		"VISUAL wins":   {"/usr/bin/nvim", "nano", 3, "/usr/bin/nvim +3 f.toml"},
		"helix":         {"hx", "", 3, "hx f.toml:3"},
		"code":          {"code --wait", "", 3, "code --wait --goto f.toml:3"},
		"unknown, line": {"my-editor", "", 3, "my-editor f.toml"},
	} {
		env := map[string]string{"VISUAL": tc.visual, "EDITOR": tc.editor}
		if got := strings.Join(Command(func(k string) string { return env[k] }, "f.toml", tc.line), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
