package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
)

// change is one file that differs between two commits.
type change struct {
	// path is its name now; from its name before when it was renamed.
	path, from string
	// status is git's letter: A, D, M, R, C or T.
	status         byte
	oldMode, mode  string
	added, removed int
	binary         bool
}

// diffFlags keep programs that a configuration names out of a diff.
var diffFlags = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"}

// changes lists what differs between two commits or trees, renames found, ordered by path.
func (r *repo) changes(ctx context.Context, from, to string, renames bool) ([]change, error) {
	args := append([]string{"diff", "--raw", "--numstat", "-z", "--no-abbrev"}, diffFlags...)
	if renames {
		args = append(args, "-M")
	} else {
		args = append(args, "--no-renames")
	}
	out, err := r.git(ctx, append(args, from, to, "--")...)
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", short(from), short(to), err)
	}
	return parseChanges(out)
}

// parseChanges reads git's --raw and --numstat records, separated by NUL.
func parseChanges(out string) ([]change, error) {
	if out == "" {
		return nil, nil
	}
	f := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	bad := func() error { return errors.New("git diff printed what cannot be read") }
	var all []change
	at := map[string]int{}
	for i := 0; i < len(f); {
		if raw, ok := strings.CutPrefix(f[i], ":"); ok {
			parts := strings.Fields(raw)
			if len(parts) != 5 || i+1 >= len(f) {
				return nil, bad()
			}
			c := change{oldMode: parts[0], mode: parts[1], status: parts[4][0], path: f[i+1]}
			i += 2
			if c.status == 'R' || c.status == 'C' {
				if i >= len(f) {
					return nil, bad()
				}
				c.from, c.path = c.path, f[i]
				i++
			}
			at[c.path] = len(all)
			all = append(all, c)
			continue
		}
		parts := strings.SplitN(f[i], "\t", 3)
		if len(parts) != 3 {
			return nil, bad()
		}
		path := parts[2]
		i++
		if path == "" { // a rename: old and new name follow
			if i+1 >= len(f) {
				return nil, bad()
			}
			path = f[i+1]
			i += 2
		}
		n, ok := at[path]
		if !ok {
			return nil, bad()
		}
		all[n].binary = parts[0] == "-"
		all[n].added, _ = strconv.Atoi(parts[0])
		all[n].removed, _ = strconv.Atoi(parts[1])
	}
	return all, nil
}

// paths are all names that the changes touch, old names of renames too, sorted.
func paths(all []change) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.path)
		if c.status == 'R' {
			names = append(names, c.from)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lines are the added and removed lines of all changes; binary files have none.
func lines(all []change) (added, removed int) {
	for _, c := range all {
		added, removed = added+c.added, removed+c.removed
	}
	return added, removed
}

// MaxDiff is the most bytes of a diff that [Git.Diff] returns, 2 MiB; a last line says so when there were more.
const MaxDiff = 2 << 20

// Diff is the unified diff between two commits of the task, renames found. An empty from is the base commit, an empty to the recorded tip.
// It is cut after [MaxDiff] bytes, with a last line that says so.
func (g *Git) Diff(ctx context.Context, w amp.Workspace, from, to string) (string, error) {
	r, err := g.open(w.Repo)
	if err != nil {
		return "", err
	}
	if from == "" {
		from = w.BaseCommit
	}
	if to == "" {
		to = want(w)
	}
	for _, p := range []*string{&from, &to} {
		full, err := r.commit(ctx, *p)
		if err != nil {
			return "", err
		}
		if full == "" {
			return "", fmt.Errorf("show a diff of %s: %q is no commit of the repository", w.TaskID, *p)
		}
		*p = full
	}
	c := r.at()
	c.max = MaxDiff
	out, err := g.run(ctx, c, append(append([]string{"diff", "-M"}, diffFlags...), from, to, "--")...)
	if errors.Is(err, errCut) {
		if i := strings.LastIndexByte(out, '\n'); i >= 0 {
			out = out[:i+1]
		}
		return out + fmt.Sprintf("… cut after %d bytes: git diff %s %s shows the whole\n", MaxDiff, from, to), nil
	}
	if err != nil {
		return "", fmt.Errorf("show a diff of %s: %w", w.TaskID, err)
	}
	return out, nil
}
