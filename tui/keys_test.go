package tui

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/tui/tuitest"
)

const keysDoc = "../docs/keys.md"

// docs/keys.md is drawn from the table of actions; it can not go stale.
func TestKeys_documented(t *testing.T) {
	t.Parallel()
	rows, problems := Keymap(nil)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	var b strings.Builder
	b.WriteString("# Keys\n\n" +
		"Drawn from the table of actions by `go test ./tui -run TestKeys -update`; `arbiter --keys` prints yours.\n\n" +
		"`?` in the program lists the actions of the screen you are on, with the reason why one is off, and runs them. A key is\n" +
		"changed by the id of its action in `config.toml`; a list gives several keys, an empty list leaves the action to the palette,\n" +
		"and keys with a blank between them are pressed one after the other:\n\n" +
		"```toml\n[tui.keys]\n\"zoom\" = \"f11\"\n\"move.top\" = [\"g g\", \"home\"]\n\"copy.text\" = []\n```\n\n" +
		"What decides is a capital letter, always: such an action takes no other key.\n" +
		"An id or a key that does not exist, and a key that two actions of a screen want, are reported with their line.\n\n" +
		"The other settings of the screens, with what they are when nothing is said:\n\n" +
		"```toml\n[tui]\ntheme = \"auto\"        # dark, light, high-contrast, mono; :theme changes it for a run\n" +
		"signs = \"auto\"        # utf8, ascii\nmouse = true          # false leaves selecting text to the terminal\n" +
		"export = \"\"           # folder of ctrl+e; \"\" is the folder of documents, else the home directory\n" +
		"notify = true         # calls when something new waits and the terminal has no focus, once a minute at most\n" +
		"bell = true           # and rings then\nquiet = \"\"            # hours without calls, as \"22:00-07:00\"\n```\n")
	scope := ""
	for _, r := range rows {
		if r.Scope != scope {
			scope = r.Scope
			fmt.Fprintf(&b, "\n## %s\n\n| keys | does | id | decides |\n|---|---|---|---|\n", strings.ReplaceAll(scope, "global", "everywhere"))
		}
		keys := make([]string, len(r.Keys))
		for i, k := range r.Keys {
			keys[i] = "`" + strings.ReplaceAll(k, "|", "\\|") + "`"
		}
		danger := map[string]string{"-": ""}
		word, harmless := danger[r.Danger]
		if !harmless {
			word = r.Danger + " risk"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", strings.Join(keys, " "), r.Title, r.ID, word)
	}
	if tuitest.Updating() {
		if err := os.WriteFile(keysDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(keysDoc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), b.String()); diff != "" {
		t.Errorf("docs/keys.md is stale; go test ./tui -run TestKeys -update writes it (-there +wanted):\n%s", diff)
	}
}

func TestKeymap_problems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys map[string][]string
		want []string
	}{
		"fine":                  {map[string][]string{"zoom": {"f11"}, "move.top": {"g g", "home"}}, nil},
		"enter for a decision":  {map[string][]string{"stop-all": {"enter"}}, []string{`key "enter" of "stop-all"`}},
		"space for a decision":  {map[string][]string{"stop-all": {"space"}}, []string{"needs a capital"}},
		"y for a decision":      {map[string][]string{"stop-all": {"y"}}, []string{"needs a capital"}},
		"a decision's capital":  {map[string][]string{"zoom": {"S"}}, []string{`key "S" of "zoom": taken by "stop-all"`}},
		"ctrl+c for another":    {map[string][]string{"zoom": {"ctrl+c"}}, []string{"always leaves the program"}},
		"no way out":            {map[string][]string{"app.quit": {"ctrl+q"}}, []string{"always leaves the program"}},
		"unknown id":            {map[string][]string{"zom": {"f11"}}, []string{`did you mean "zoom"`}},
		"unknown key":           {map[string][]string{"zoom": {"return"}}, []string{`did you mean "enter"`}},
		"key no terminal sends": {map[string][]string{"zoom": {"ctrl+i"}}, []string{`did you mean "tab"`}},
		"taken by a sequence":   {map[string][]string{"zoom": {"g z"}}, []string{`taken by "move.top"`}},
		"twice":                 {map[string][]string{"zoom": {"f11", "f11"}}, []string{"there twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := Keymap(tc.keys)
			if len(problems) != len(tc.want) {
				t.Fatalf("problems %v, want %d", problems, len(tc.want))
			}
			for i, p := range problems {
				if !strings.Contains(p.Error(), tc.want[i]) {
					t.Errorf("problem %q, want %q", p.Error(), tc.want[i])
				}
			}
		})
	}
}

// A sequence that has begun shows the keys that go on.
func TestKeys_sequence(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 24, func(c *Config) {
		c.Keys = map[string][]string{"go.tasks": {"f1 t"}, "go.plans": {"f1 p"}, "stop-all": {}}
	})
	s.Press("f1").Shows("f1 …", "t go to Tasks", "p go to Plans", "esc leaves")
	s.Press("p").Shows("[4 Plans")
	s.Press("f1", "esc").Hides("f1 …").Shows("[4 Plans")
	s.Press("f1", "x").Hides("f1 …").Shows("[4 Plans")
}
