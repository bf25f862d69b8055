package main

import (
	"reflect"
	"slices"
	"strings"

	"arbiter/tui/action"
)

// envSections are the sections whose scalar keys can be set by variables as ARBITER_POLICY_SLOTS.
var envSections = []string{"roles", "observe", "planning", "policy", "budget", "repo", "tui", "listen", "mirror", "store", "team"}

// overrideEnv takes ARBITER_<SECTION>_<KEY> from the environment. An empty variable counts as unset; one of
// such a section that is no key is an error.
func overrideEnv(c *config, env []string) error {
	env = slices.Sorted(slices.Values(env)) // the first error is the same each time
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		rest, ok := strings.CutPrefix(name, "ARBITER_")
		if !ok {
			continue
		}
		section, key, ok := strings.Cut(strings.ToLower(rest), "_")
		if !ok || value == "" || !slices.Contains(envSections, section) {
			continue
		}
		if section == "store" && !slices.Contains(storeKeys, key) {
			continue // much begins with ARBITER_STORE_
		}
		if err := override(c, section+"."+key, value, "the variable "+name); err != nil {
			return err
		}
	}
	return nil
}

// overrideSets takes --set section.key=value.
func overrideSets(c *config, sets []string) error {
	for _, s := range sets {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return usage("--set %s has no value", s).then("Write it as --set policy.slots=2.")
		}
		if err := override(c, strings.TrimSpace(key), strings.TrimSpace(value), "--set "+s); err != nil {
			return err
		}
	}
	return nil
}

// override sets one key. The value is TOML, or a text that needs no quotes.
func override(c *config, key, value, where string) error {
	path := strings.Split(key, ".")
	for i, part := range path {
		known, open := keysAt(reflect.TypeFor[config](), path[:i])
		if open || slices.Contains(known, part) {
			continue
		}
		e := usage("%s names no key of the configuration", where)
		if best := action.Nearest(part, known); best != "" {
			return e.then("Did you mean " + strings.Join(append(slices.Clone(path[:i]), best), ".") + "?")
		}
		return e.then("Known here: " + strings.Join(known, ", ") + ".")
	}
	for i, part := range path {
		if !agentName.MatchString(part) {
			return usage("%s names no key of the configuration", where).then("Write it as --set policy.slots=2.")
		}
		path[i] = `"` + part + `"`
	}
	line := strings.Join(path, ".") + " = "
	err := decodeTOML(where, []byte(line+value), c)
	if err != nil && !strings.ContainsAny(value, "\"\\\n\r[{") {
		if decodeTOML(where, []byte(line+`"`+value+`"`), c) == nil {
			return nil
		}
	}
	if err != nil {
		return usage("%s is no value for %s", where, key).then("Give it in the form that config.toml wants.")
	}
	return nil
}
