package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"arbiter/providers/api"
	"arbiter/providers/sandbox"
)

// sandboxConfig is what holds for every program that is an agent, unless the agent says otherwise.
type sandboxConfig struct {
	// Mode is auto when empty: what this machine has, or no start.
	Mode string `toml:"mode"`
	// Read and Write are files and folders that all of them see besides their own; ~ is the home directory.
	Read  []string `toml:"read"`
	Write []string `toml:"write"`
	// Disk is by how many bytes a turn may make its folders grow, 20 GB when 0.
	Disk int64 `toml:"disk"`
}

// diskQuota is far more than honest work takes, and less than would fill most disks unseen.
const diskQuota = 20_000_000_000

// runsProgram reports whether Arbiter starts a program for the agent.
func (g agentConfig) runsProgram() bool {
	return g.Kind != "api" && g.Kind != "external" && g.Kind != "bus"
}

// validateSandbox reports every problem of what holds programs.
func (c *config) validateSandbox(bad func(string, ...any)) {
	check := func(key, mode string, read, write []string) {
		if mode != "" && !slices.Contains(sandbox.Modes(), sandbox.Mode(mode)) {
			bad("%s is %q, want auto, bwrap, landlock or off", key, mode)
		}
		for _, p := range slices.Concat(read, write) {
			if full := fromHome(p); !filepath.IsAbs(full) || filepath.Clean(full) == "/" {
				bad("%s: %q is no path that can be shown; give an absolute one, or one that begins with ~/", key, p)
			}
		}
	}
	check("sandbox.mode", c.Sandbox.Mode, c.Sandbox.Read, c.Sandbox.Write)
	if c.Sandbox.Disk < 0 {
		bad("sandbox.disk is negative")
	}
	for _, name := range sortedKeys(c.Agents) {
		g := c.Agents[name]
		key := "agents." + name + ".sandbox"
		if check(key, g.Sandbox, g.Read, g.Write); !g.runsProgram() && (g.Sandbox != "" || len(g.Read) > 0 || len(g.Write) > 0 || g.MaxRequests != 0 || g.MaxBytes != 0 || g.Disk != 0) {
			bad("%s: Arbiter starts no program for this agent; sandbox, read, write, disk, max_requests and max_bytes have no meaning", key)
		}
		if g.Kind == "command" {
			g.validateKey("agents."+name, false, bad)
		}
		for field, n := range map[string]int64{"max_requests": int64(g.MaxRequests), "max_bytes": g.MaxBytes, "disk": g.Disk} {
			if n < 0 {
				bad("agents.%s.%s is negative", name, field)
			}
		}
	}
}

// fromHome is a path with ~ at its beginning resolved.
func fromHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// leash is what the programs of an agent may reach.
func (c *config) leash(g agentConfig, configDir string) sandbox.Leash {
	paths := func(lists ...[]string) (all []string) {
		for _, p := range slices.Concat(lists...) {
			all = append(all, fromHome(p))
		}
		return all
	}
	l := sandbox.Leash{
		Mode:     sandbox.Mode(cmp.Or(g.Sandbox, c.Sandbox.Mode, string(sandbox.Auto))),
		ReadOnly: paths(c.Sandbox.Read, g.Read), ReadWrite: paths(c.Sandbox.Write, g.Write),
		Caps: sandbox.Caps{Requests: g.MaxRequests, Bytes: g.MaxBytes, Disk: cmp.Or(g.Disk, c.Sandbox.Disk, diskQuota)},
	}
	for _, arg := range g.Argv {
		if info, err := os.Stat(arg); err == nil && filepath.IsAbs(arg) && info.Mode().IsRegular() {
			l.ReadOnly = append(l.ReadOnly, arg) // a script that an interpreter is given
		}
	}
	if g.URL != "" {
		l.Model = sandbox.Model{URL: g.URL, Key: g.key(configDir), Header: keyHeader(g.API)}
	}
	return l
}

// keyHeader is the header in which a service of this dialect wants its key, "" for the usual one.
func keyHeader(dialect string) string {
	switch api.Dialect(dialect) {
	case api.Claude:
		return "x-api-key"
	case api.Gemini:
		return "x-goog-api-key"
	default: // a bearer token
		return ""
	}
}

// examineSandbox says what confines agents here, and which agents nothing does.
func (c *config) examineSandbox() []finding {
	var all []finding
	best, err := sandbox.Bubblewrap.Works()
	second, other := sandbox.Landlock.Works()
	switch {
	case err == nil:
		all = append(all, finding{"sandbox", "ok", best + " works: agents see their own folders, no network and no process but their own", ""})
	case other == nil:
		all = append(all, finding{"sandbox", "warn", fmt.Sprintf("%v; %s is used in its place, which hides no processes", reasonOf(err), second), sandbox.Install()})
	case runtime.GOOS != "linux":
		all = append(all, finding{"sandbox", "warn", "this system confines no agent; what an agent starts is found and ended all the same", sandbox.Install()})
	default:
		all = append(all, finding{"sandbox", "warn", fmt.Sprintf("%v; %v", reasonOf(err), reasonOf(other)), sandbox.Install()})
	}
	if os.Geteuid() == 0 {
		all = append(all, finding{
			"sandbox", "warn", "as root nothing bounds how many processes an agent starts; files, network and disk are bounded as for others",
			"Run Arbiter as a user of its own.",
		})
	}
	for _, name := range sortedKeys(c.Agents) {
		g := c.Agents[name]
		if !g.runsProgram() {
			continue
		}
		l := c.leash(g, "")
		switch l.Confined() {
		case "none":
			_, err := l.Mode.Works()
			all = append(all, finding{"agent " + name, "fail", fmt.Sprintf("is not started: %v", reasonOf(err)), sandbox.Install()})
		case string(sandbox.Off):
			if l.Mode == sandbox.Off {
				all = append(all, finding{
					"agent " + name, "warn", "nothing confines it: it can read and change all that you can",
					fmt.Sprintf("Set agents.%s.sandbox = \"auto\"; see docs/confinement.md for what it then needs.", name),
				})
			}
		}
	}
	return all
}

// reasonOf is why a mode cannot be kept, without the advice.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*sandbox.MissingError](err); ok {
		return e.Why
	}
	return fmt.Sprint(err)
}
