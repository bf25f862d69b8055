package codex

import (
	"fmt"
	"strings"

	"arbiter/providers"
)

// usage are the tokens of a thread since its beginning.
type usage struct {
	input, cached, written, output int
}

func (u usage) minus(v usage) usage {
	return usage{max(u.input-v.input, 0), max(u.cached-v.cached, 0), max(u.written-v.written, 0), max(u.output-v.output, 0)}
}

func (u usage) of(model string) providers.Usage {
	return providers.Usage{Model: model, Input: u.input, Cached: u.cached, CacheWrite: u.written, Output: u.output, Tokens: u.input + u.output}
}

// sessionText is what a later turn is given to continue: the thread, and what it took so far, which the simple mode has no other way to know.
func sessionText(thread string, total usage) string {
	if total == (usage{}) {
		return thread
	}
	return fmt.Sprintf("%s+%d.%d.%d.%d", thread, total.input, total.cached, total.written, total.output)
}

// parseSession reads sessionText; what no thread of codex can be called is no session.
func parseSession(s string) (thread string, total usage) {
	thread, counts, _ := strings.Cut(s, "+")
	if !threadName(thread) {
		return "", usage{}
	}
	if n, _ := fmt.Sscanf(counts, "%d.%d.%d.%d", &total.input, &total.cached, &total.written, &total.output); n != 4 {
		return thread, usage{}
	}
	return thread, total
}

// threadName reports whether s can be an argument that names a thread: letters, digits and dashes, not starting with a dash.
func threadName(s string) bool {
	if s == "" || len(s) > 100 || s[0] == '-' {
		return false
	}
	for _, r := range s {
		if r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}
