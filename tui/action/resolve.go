package action

import "strings"

// Result is what a key led to.
type Result struct {
	Action  *Action  // the action of the key, nil if there is none
	Why     string   // why that action is off; "" means: run it
	Pending []Action // the key began a sequence: these actions may follow
	Unknown string   // the keys that mean nothing here
}

// Resolver turns keys into actions and remembers a sequence that has begun.
type Resolver struct {
	reg  *Registry
	keys []string
}

// NewResolver returns a resolver over a registry.
func NewResolver(reg *Registry) *Resolver { return &Resolver{reg: reg} }

// Press resolves one key in scopes, the innermost first; the same key in an inner scope hides the outer one. Esc
// leaves a sequence that has begun and does nothing else.
func (r *Resolver) Press(key string, scopes ...string) Result {
	if key == "esc" && len(r.keys) > 0 {
		r.keys = nil
		return Result{}
	}
	r.keys = append(r.keys, Normal(key))
	seq := strings.Join(r.keys, " ")
	var pending []Action
	for _, s := range scopes {
		for _, a := range r.reg.actions {
			if a.Scope != s {
				continue
			}
			for _, k := range a.Keys {
				if k == seq {
					r.keys = nil
					found := *a
					return Result{Action: &found, Why: r.reg.why(a)}
				}
				if strings.HasPrefix(k, seq+" ") {
					pending = append(pending, *a)
				}
			}
		}
	}
	if pending != nil {
		return Result{Pending: pending}
	}
	r.keys = nil
	return Result{Unknown: seq}
}

// Begun returns the keys of a sequence that has begun, "" for none.
func (r *Resolver) Begun() string { return strings.Join(r.keys, " ") }

// Next returns the keys that may follow a sequence that has begun, with what they do, in the order of the scopes.
func (r *Resolver) Next(scopes ...string) []Hint {
	begun := r.Begun()
	if begun == "" {
		return nil
	}
	var out []Hint
	for _, a := range r.reg.In(scopes...) {
		for _, k := range a.Keys {
			if rest, ok := strings.CutPrefix(k, begun+" "); ok && r.reg.why(&a) == "" {
				out = append(out, Hint{rest, a.short(), a.ID})
			}
		}
	}
	return out
}

// Reset forgets a sequence that has begun: for a change of screen.
func (r *Resolver) Reset() { r.keys = nil }
