package codex

import (
	"path/filepath"
	"strings"
)

// execArgs are the arguments of the simple mode; the prompt comes on standard input. What codex may do stands in its configuration.
func (r *run) execArgs() []string {
	args := []string{"exec", "--json", "--skip-git-repo-check", "-C", r.turn.Dir}
	if len(r.prompt.Schema) > 0 {
		args = append(args, "--output-schema", filepath.Join(r.home, schemaName))
	}
	if r.resume != "" {
		return append(args, "resume", r.resume, "-")
	}
	return append(args, "-")
}

// execInput is the prompt; the simple mode has no other place for the standing instruction.
func (r *run) execInput() []byte {
	if r.prompt.System == "" {
		return []byte(r.prompt.Text)
	}
	return []byte(r.prompt.System + "\n\n" + r.prompt.Text)
}

// heardExec handles one line of the simple mode.
func (r *run) heardExec(raw []byte) {
	e := decodeExec(raw)
	if e.kind == isRetry && !strings.HasPrefix(e.trouble.Words, "Reconnecting") {
		return // the end of the turn says it again
	}
	r.common(&e)
	switch {
	case e.kind == isThread:
		if r.resume != "" && e.thread != r.resume {
			r.progress("session " + r.resume + " is not known any more: a new one begins")
			r.base = usage{}
		}
		r.named(e.thread)
	case e.kind == isEnd && e.total != (usage{}):
		r.total = e.total
	}
}
