package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/command"
)

// docCommand finds what a document tells a person to type.
var docCommand = regexp.MustCompile("(?m)(?:^|`)(?:bin/)?arbiter ((?:[a-z-]+ ?|--?[a-z-]+(?:[ =]\"[^\"]*\")? ?|[A-Z#.]+ ?)+)")

// Every command and flag that a document names exists.
func TestDocs_commands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, "../../README.md", "../../ARCHITECTURE.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		joined := strings.ReplaceAll(string(text), "\\\n", " ")
		for _, m := range docCommand.FindAllStringSubmatch(joined, -1) {
			found++
			checkCommand(t, filepath.Base(file), strings.Fields(m[1]))
		}
	}
	if found < 5 {
		t.Errorf("only %d commands were found in the documents", found)
	}
}

func checkCommand(t *testing.T, file string, words []string) {
	t.Helper()
	root := newRoot(&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	var names []string
	for _, w := range words {
		if strings.HasPrefix(w, "-") || strings.ToLower(w) != w {
			break
		}
		names = append(names, w)
	}
	c, rest, err := root.Find(names)
	if err != nil || c == root && len(names) > 0 {
		t.Errorf("%s: there is no command arbiter %s", file, strings.Join(names, " "))
		return
	}
	if c.HasSubCommands() && len(rest) > 0 {
		t.Errorf("%s: %s has no command %s", file, c.CommandPath(), rest[0])
	}
	for _, w := range words {
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && lookup(c.Flags(), c.InheritedFlags(), name) == nil {
			t.Errorf("%s: %s has no flag --%s", file, c.CommandPath(), name)
		}
	}
}

func lookup(own, inherited *pflag.FlagSet, name string) *pflag.Flag {
	if f := own.Lookup(name); f != nil {
		return f
	}
	return inherited.Lookup(name)
}

// The executor that docs/agents.md shows is one: its answer is a valid task_result.
func TestDocs_executor(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the example of docs/agents.md was not run")
	}
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := bytes.Cut(text, []byte("```python\n"))
	code, _, found := bytes.Cut(code, []byte("```"))
	if !found {
		t.Fatal("docs/agents.md has no example in Python")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "worker.py")
	if err := os.WriteFile(program, code, 0o600); err != nil {
		t.Fatal(err)
	}
	agent, err := command.New(command.Config{Name: "worker", Argv: []string{python, program}})
	if err != nil {
		t.Fatal(err)
	}
	acked := false
	out, err := agent.Run(t.Context(), providers.Turn{
		ID: "turn", Task: "T-2026-001", Role: amp.Executor, Dir: dir, Home: t.TempDir(),
		Subtask: "T-2026-001-S1", Message: []byte(`{"payload":{"acceptance_criteria":["it works"]}}`),
	},
		func(e providers.Event) { acked = acked || e.Type == providers.EventAck })
	if err != nil || !acked {
		t.Fatalf("acked %v, %v", acked, err)
	}
	message := `{"msg_id":"task_result-T-2026-001-1795267925962","protocol_version":"AMP/1.0","type":"task_result","from":"executor",` +
		`"to":"coordinator","task_id":"T-2026-001","timestamp":"2026-11-21T13:00:00Z","requires_ack":true,"payload":` + string(out.Final) + `}`
	if _, _, err := amp.Decode([]byte(message)); err != nil {
		t.Errorf("its answer is refused: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "NOTES.md")); err != nil {
		t.Error(err)
	}
}

// Every key of the configuration is written in a document, and every configuration that docs/configuration.md shows is one.
func TestDocs_configuration(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	var walk func(of reflect.Type, at []string)
	walk = func(of reflect.Type, at []string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		keys, _ := keysAt(of, nil)
		for _, key := range keys {
			if !regexp.MustCompile(`(?m)(^|\W)` + regexp.QuoteMeta(key) + `(\W|$)`).Match(all) {
				t.Errorf("no document names %s", strings.Join(append(at, key), "."))
			}
		}
		for i := range of.NumField() {
			if key := of.Field(i).Tag.Get("toml"); key != "" {
				walk(of.Field(i).Type, append(slices.Clone(at), key))
			}
		}
	}
	walk(reflect.TypeFor[config](), nil)

	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Builder{}
	for _, part := range strings.Split(string(text), "```toml\n")[1:] {
		code, _, _ := strings.Cut(part, "```")
		shown.WriteString(code)
	}
	c := config{}
	if err := decodeTOML("docs/configuration.md", []byte(shown.String()), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.validate(); err != nil {
		t.Error(err)
	}
}
