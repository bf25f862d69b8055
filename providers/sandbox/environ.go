package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Marker is the environment variable that marks the processes of a turn. Its value is a list of turn ids joined by ':', outermost
// first, since an agent may itself run Arbiter.
const Marker = "ARBITER_TURN"

// secretWords are parts of names that never pass by a pattern.
var secretWords = []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"}

// Secret reports whether a variable of this name looks like a secret: it never reaches a program unless it is named in full.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// environ is the environment of the program: the allowed variables of parent, what the sandbox sets, then spec.Env.
func environ(spec *Spec, parent []string) []string {
	e := environment{values: map[string]string{}}
	outer := ""
	for _, pair := range parent {
		name, value, ok := strings.Cut(pair, "=")
		if name == Marker {
			outer = value + ":"
		}
		if ok && passes(name, spec.Pass) {
			e.set(name, value)
		}
	}
	if e.values["LANG"] == "" && e.values["LC_ALL"] == "" {
		e.set("LANG", "C.UTF-8")
	}
	e.set("HOME", spec.Home)
	e.set("TMPDIR", filepath.Join(spec.Home, "tmp"))
	e.set("TERM", "dumb")
	for _, pair := range spec.Env {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			e.set(name, value)
		}
	}
	e.set(Marker, outer+spec.Turn)
	return e.list()
}

// passes reports whether a variable of this process reaches the program.
func passes(name string, pass []string) bool {
	if slices.Contains(pass, name) {
		return true
	}
	if name == "" || Secret(name) {
		return false
	}
	if name == "PATH" || name == "LANG" || strings.HasPrefix(name, "LC_") {
		return true
	}
	return slices.ContainsFunc(pass, func(p string) bool {
		prefix, pattern := strings.CutSuffix(p, "*")
		return pattern && prefix != "" && strings.HasPrefix(name, prefix)
	})
}

// environment is a set of variables that keeps the order in which names came first.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, there := e.values[name]; !there {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environment) list() []string {
	pairs := make([]string, len(e.names))
	for i, name := range e.names {
		pairs[i] = name + "=" + e.values[name]
	}
	return pairs
}

// marked reports whether a Marker value names the turn.
func marked(value, turn string) bool {
	return slices.Contains(strings.Split(value, ":"), turn)
}
