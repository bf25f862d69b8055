package agenttest

import (
	"os"
	"testing"

	"arbiter/providers"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// Adapter is one way to a vendor's program, as the suite drives it: the program is the test binary, which plays scripts in the dialect.
type Adapter struct {
	Dialect string
	New     func(program.Config) (providers.Agent, error)
	// Lacks are the actions that the protocol has no form for, and why the cases that need one are skipped.
	Lacks map[Action]string
}

// Conform runs the suite for the adapter, free and in a cage.
func (a *Adapter) Conform(t *testing.T) {
	t.Helper()
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Bubblewrap} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			if _, err := mode.Works(); err != nil {
				t.Skipf("NOT TESTED, since %v", err)
			}
			Run(t, func(t *testing.T, script Script) providers.Agent {
				t.Helper()
				for action, why := range a.Lacks {
					if script.Has(action) {
						t.Skip(why)
					}
				}
				return a.Fake(t, script, mode)
			})
		})
	}
}

// Fake is an agent whose program plays the script. Its model is not there.
func (a *Adapter) Fake(t testing.TB, script Script, mode sandbox.Mode) providers.Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if script.Missing {
		self += "-missing"
	}
	script.Dialect = a.Dialect
	agent, err := a.New(program.Config{
		Program: self, Model: "m", Leash: sandbox.Leash{Mode: mode, Model: sandbox.Model{URL: "http://127.0.0.1:9/v1"}}, Env: script.Env(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}
