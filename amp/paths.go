package amp

import (
	"path"
	"slices"
	"strings"
)

// MatchPath reports whether a file, relative to the repository with slashes, matches a pattern. Within one part of the path * is
// any run of characters, ? one and [a-z] a class; a part ** is any number of parts, none too. A pattern that names a folder, with
// or without a slash at its end, matches everything below it. A malformed pattern matches nothing.
func MatchPath(pattern, file string) bool {
	pattern = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(pattern), "./"), "/")
	if pattern == "" || file == "" {
		return false
	}
	if dir, ok := strings.CutSuffix(pattern, "/"); ok {
		pattern = dir + "/**"
	}
	parts := strings.Split(pattern, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return false
		}
	}
	names := strings.Split(file, "/")
	if matchParts(parts, names) {
		return true
	}
	last := parts[len(parts)-1]
	return !strings.ContainsAny(last, `*?[\`) && matchParts(append(parts, "**"), names)
}

// matchParts goes through the names once for each part of the pattern: can[i] says that the parts so far match names[:i].
func matchParts(parts, names []string) bool {
	can := make([]bool, len(names)+1)
	can[0] = true
	for _, p := range parts {
		next := make([]bool, len(names)+1)
		if p == "**" {
			next[0] = can[0]
			for i := range names {
				next[i+1] = can[i+1] || next[i]
			}
		} else {
			for i, name := range names {
				if can[i] {
					next[i+1], _ = path.Match(p, name)
				}
			}
		}
		can = next
	}
	return can[len(names)]
}

// PathAllowed reports whether the allowed paths of a plan let a file change; none let every file.
func PathAllowed(allowed []string, file string) bool {
	return len(allowed) == 0 || slices.ContainsFunc(allowed, func(p string) bool { return MatchPath(p, file) })
}
