//go:build linux || darwin

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Of a program's surroundings a cage shows what it needs to run, and no folder that holds more than a program.
func TestView_program(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	file := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, target string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("tools/node", "binary")
	file("x/node_modules/pkg/bundle/main.js", "#!"+home+"/tools/node\n")
	file("venv/pyvenv.cfg", "")
	for name, tc := range map[string]struct {
		program string
		want    []string
	}{
		"a binary":                      {file("tools/agent", "binary"), []string{"tools"}},
		"in the home itself":            {file("agent", "binary"), []string{"agent"}},
		"a link in the home itself":     {link("short", "tools/agent"), []string{"short", "tools", "tools/agent"}},
		"a package of node":             {link("x/node_modules/.bin/pkg", "../pkg/bundle/main.js"), []string{"tools", "x/node_modules"}},
		"a link to a package":           {link("bin/pkg", "../x/node_modules/.bin/pkg"), []string{"bin", "tools", "x/node_modules"}},
		"a virtual environment":         {link("venv/bin/python", home+"/tools/node"), []string{"tools", "venv"}},
		"a script with an interpreter":  {file("y/run", "#! "+home+"/tools/node -x\n"), []string{"tools", "y"}},
		"beside the worktree":           {file("work/near", "binary"), []string{"work/near"}},
		"a link that leads to itself":   {link("z/loop", "loop"), []string{"z"}},
		"no interpreter that is there":  {file("v/run", "#!/no/such/thing\n"), []string{"v"}},
		"no interpreter by that name":   {file("v2/run", "#!/usr/bin/env -S no-such-program-here\n"), []string{"v2"}},
		"a first line that never ends":  {file("v3/run", "#!"+string(slices.Repeat([]byte("x"), 5000))), []string{"v3"}},
		"a link through another folder": {link("w", "tools") + "/agent", []string{"tools", "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &view{write: map[string]bool{}, own: []string{home, filepath.Join(home, "work/tree")}}
			v.program(tc.program, 0)
			want := []string{}
			for _, w := range tc.want {
				want = append(want, filepath.Join(home, w))
			}
			if got := v.paths(); !slices.Equal(got, want) {
				t.Errorf("it shows %q, want %q", got, want)
			}
		})
	}
}
