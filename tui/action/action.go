// Package action is the table between keys and what a program does. Help, palette, footer, key configuration and
// its documentation are all drawn from it, so none of them can disagree with what a key does.
//
// A key is named as Bubble Tea names it ("j", "G", "ctrl+d", "enter", "esc", "tab"), a blank is "space", and keys
// of a sequence are separated by a blank: "g g".
package action

import (
	"fmt"
	"slices"
	"strings"
)

// Danger is what an action can do to the world.
type Danger uint8

// The dangers. Everything but None is a decision: read-only mode turns it off, and its key must be a capital.
const (
	None Danger = iota
	Low
	High
)

// String returns the word of the key table.
func (d Danger) String() string {
	switch d {
	case None:
		return "-"
	case Low:
		return "low"
	case High:
		return "high"
	default:
		return "?"
	}
}

// leaves is the action that ctrl+c always stands for.
const leaves = "app.quit"

// Global is the scope whose actions are valid on every screen.
const Global = "global"

// Action is one thing a person can do.
type Action struct {
	ID     string   // "plan.approve": unique, stable, the name in the key configuration
	Scope  string   // the screen or pane where it is valid; [Global] is everywhere
	Title  string   // "approve…", for help and palette
	Short  string   // for the footer; "" means Title
	Keys   []string // the first one is shown; none: only the palette reaches it
	Danger Danger
	Rank   int // order in the footer, small first; 0 keeps it out of the footer

	// Disabled returns why the action is off now, "" when it is on; nil is always on. It must answer from memory.
	Disabled func() string
}

func (a *Action) short() string {
	if a.Short != "" {
		return a.Short
	}
	return a.Title
}

// Registry holds the actions of a program. Adding and overriding happen at start; after that it is read from one
// goroutine.
type Registry struct {
	actions  []*Action
	byID     map[string]*Action
	readonly string
	listed   []*Action // of [Registry.Footer]
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{byID: map[string]*Action{}} }

// Add registers actions. It fails on an id that is there already, on an action without id, scope or title, on a
// key that is taken in the same scope, on one that begins a sequence or is begun by one of the same or the global
// scope, and on a decision whose key is no capital. The actions before the failing one are kept. An inner scope
// may use a key of the global one: it hides it, but nothing harmless hides a decision.
func (r *Registry) Add(actions ...Action) error {
	for _, a := range actions {
		if err := r.check(&a); err != nil {
			return fmt.Errorf("register action %q: %w", a.ID, err)
		}
		a.Keys = normalAll(a.Keys)
		r.actions = append(r.actions, &a)
		r.byID[a.ID] = &a
	}
	return nil
}

func (r *Registry) check(a *Action) error {
	switch {
	case a.ID == "" || a.Scope == "" || a.Title == "":
		return fmt.Errorf("id, scope and title are needed")
	case r.byID[a.ID] != nil:
		return fmt.Errorf("the id is taken")
	}
	for _, k := range normalAll(a.Keys) {
		if err := permitted(a, k); err != nil {
			return err
		}
		if other := r.clash(a, k); other != nil {
			return fmt.Errorf("key %q is taken by %q", k, other.ID)
		}
	}
	return nil
}

// permitted reports a key that may not stand for an action: decisions are capitals, so that no stray letter,
// enter or space decides.
func permitted(a *Action, seq string) error {
	if seq == "" {
		return fmt.Errorf("an empty key")
	}
	for k := range strings.SplitSeq(seq, " ") {
		if k == "ctrl+c" && a.ID != leaves && a.ID != "app.interrupt" {
			return fmt.Errorf("key %q always leaves the program", k)
		}
		if a.Danger != None && (len(k) != 1 || k[0] < 'A' || k[0] > 'Z') {
			return fmt.Errorf("key %q decides nothing: a decision needs a capital letter", seq)
		}
	}
	return nil
}

// clash returns the action that a key of a would make ambiguous: the same sequence, or one that begins with the
// other, in a scope that can be active together with a's.
//
// A page may hide a key of all screens with its own, but a harmless action may neither hide a decision nor be hidden by one: a
// finger that knows what a key decides must not find something else there.
func (r *Registry) clash(a *Action, seq string) *Action {
	for _, o := range r.actions {
		if o.ID == a.ID || o.Scope != a.Scope && o.Scope != Global && a.Scope != Global {
			continue
		}
		for _, k := range o.Keys {
			if k == seq && (o.Scope == a.Scope || (o.Danger == None) != (a.Danger == None)) {
				return o
			}
			if k != seq && (strings.HasPrefix(k, seq+" ") || strings.HasPrefix(seq, k+" ")) {
				return o
			}
		}
	}
	return nil
}

// Lookup returns the action of an id.
func (r *Registry) Lookup(id string) (Action, bool) {
	a := r.byID[id]
	if a == nil {
		return Action{}, false
	}
	return *a, true
}

// ReadOnly turns all decisions off with a reason, or on again with "".
func (r *Registry) ReadOnly(reason string) { r.readonly = reason }

// Why returns why an action is off now, "" when it is on or unknown.
func (r *Registry) Why(id string) string {
	a := r.byID[id]
	if a == nil {
		return ""
	}
	return r.why(a)
}

func (r *Registry) why(a *Action) string {
	if r.readonly != "" && a.Danger != None {
		return r.readonly
	}
	if a.Disabled == nil {
		return ""
	}
	return a.Disabled()
}

// In returns the actions of the scopes, in the order of the scopes and of their registration.
func (r *Registry) In(scopes ...string) []Action {
	var out []Action
	for _, s := range scopes {
		for _, a := range r.actions {
			if a.Scope == s {
				out = append(out, *a)
			}
		}
	}
	return out
}

// Scopes returns every scope in the order of registration.
func (r *Registry) Scopes() []string {
	var out []string
	for _, a := range r.actions {
		if !slices.Contains(out, a.Scope) {
			out = append(out, a.Scope)
		}
	}
	return out
}

// Normal returns the name of a key as the registry knows it: a blank is "space", and a sequence has single
// blanks between its keys.
func Normal(key string) string {
	if strings.Trim(key, " ") == "" {
		return strings.Join(strings.Fields(strings.ReplaceAll(key, " ", "space ")), " ")
	}
	return strings.Join(strings.Fields(key), " ")
}

func normalAll(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = Normal(k)
	}
	return out
}
