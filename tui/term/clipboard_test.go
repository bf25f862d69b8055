package term_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"arbiter/tui/term"
)

func TestClipboardTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("there pbcopy is always first")
	}
	for name, c := range map[string]struct {
		env   map[string]string
		there []string
		ssh   bool
		want  string
	}{
		"wayland":               {map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, []string{"wl-copy", "xclip"}, false, "wl-copy"},
		"wayland without it":    {map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, []string{"xclip"}, false, "xclip -selection clipboard"},
		"X":                     {map[string]string{"DISPLAY": ":0"}, []string{"xsel", "wl-copy"}, false, "xsel --input --clipboard"},
		"no display":            {nil, []string{"xsel", "wl-copy", "xclip"}, false, ""},
		"nothing there":         {map[string]string{"DISPLAY": ":0"}, nil, false, ""},
		"another machine's":     {map[string]string{"DISPLAY": ":10"}, []string{"xclip"}, true, ""},
		"another, with wayland": {map[string]string{"WAYLAND_DISPLAY": "x"}, []string{"wl-copy"}, true, ""},
	} {
		look := func(file string) (string, error) {
			if slices.Contains(c.there, file) {
				return "/bin/" + file, nil
			}
			return "", errors.New("not there")
		}
		got := term.ClipboardTool(func(k string) string { return c.env[k] }, look, term.Kind{SSH: c.ssh})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestRunClipboard(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clip")
	if err := term.RunClipboard([]string{"sh", "-c", "cat > " + file}, "two\nlines"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "two\nlines" {
		t.Errorf("it got %q, %v", got, err)
	}
	if err := term.RunClipboard([]string{"sh", "-c", "exit 3"}, "x"); err == nil || !strings.Contains(err.Error(), "run sh") {
		t.Errorf("a failure is %v", err)
	}
}
