package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Agents that were written from the specification alone, in Python and in Node, are executor and reviewer of a whole task, each as the other.
func TestBus_clients(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string][2]string{"python executes": {"python3 agent.py python", "node agent.js node"}, "node executes": {"node agent.js node", "python3 agent.py python"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{"python3", "node", "git"} {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("NOT TESTED: %s is not installed, so no client of the bus was run", program)
				}
			}
			text, err := os.ReadFile(filepath.Join("testdata", "bus", "task.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			script := strings.NewReplacer(clientVars("EXECUTOR", clients[0])...).Replace(string(text))
			script = strings.NewReplacer(clientVars("REVIEWER", clients[1])...).Replace(script)
			for _, file := range []string{"agent.py", "agent.js"} {
				code, err := os.ReadFile(filepath.Join("testdata", "bus", file))
				if err != nil {
					t.Fatal(err)
				}
				script += "-- " + file + " --\n" + string(code)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "task.txtar"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			p := scripts(dir)
			p.UpdateScripts = false
			testscript.Run(t, p)
		})
	}
}

// clientVars are what the script calls a client: its command line, and the framework in its id.
func clientVars(role, client string) []string {
	words := strings.Fields(client)
	return []string{"PROGRAM_" + role, words[0] + " " + words[1], "FRAMEWORK_" + role, words[2]}
}
