package providers

import (
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
)

// Prompt is a text for a model.
type Prompt struct {
	// System is the standing instruction, Text what is asked. Both are sent as they are; an agent that cannot look into the turn's folder by
	// itself sends what is there along with them.
	System string
	Text   string
	// Schema, when it is not empty, is the JSON Schema that the answer is to follow; it is asked for where the way to the model can,
	// and whether it was followed is for the caller to find out.
	Schema []byte
}

// PermissionType is what an agent asks to do; the rest are its values.
type PermissionType = amp.PermissionType

// The types of permission, see [amp.PermissionType].
const (
	PermitRun   = amp.PermitRun
	PermitWrite = amp.PermitWrite
	PermitRead  = amp.PermitRead
	PermitFetch = amp.PermitFetch
	PermitTool  = amp.PermitTool
)

// Permission is one request of an agent, verbatim and untrusted.
type Permission = amp.Permission

// Decision is the answer to a request. It holds once: an agent that asks again is asked again.
type Decision struct {
	Allow bool
	// Reason is what the agent is told when it is denied.
	Reason string
}

// Resolved is a request of a turn in dir with its files where they really are on this machine: a link must not lead out of what a rule allows.
func Resolved(p Permission, dir string) Permission {
	p.Paths = slices.Clone(p.Paths)
	base := p.Dir
	if !filepath.IsAbs(base) {
		base = filepath.Join(dir, base)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		root = dir
	}
	for i, f := range p.Paths {
		if !filepath.IsAbs(f) {
			f = filepath.Join(base, f)
		}
		rest := ""
		for at := filepath.Clean(f); ; at = filepath.Dir(at) {
			if found, err := filepath.EvalSymlinks(at); err == nil {
				f = filepath.Join(found, rest)
				break
			}
			rest = filepath.Join(filepath.Base(at), rest)
			if at == filepath.Dir(at) {
				break
			}
		}
		if rel, err := filepath.Rel(root, f); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			f = filepath.Join(dir, rel)
		}
		p.Paths[i] = f
	}
	return p
}
