package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// diffFlags keep programs and files that a configuration names out of a diff.
var diffFlags = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "--no-relative", "-O" + os.DevNull}

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

// The bounds of what [Git.Diff] returns.
const (
	// MaxDiff is the most bytes of changed text in all, 2 MiB; MaxFileDiff of one file, 512 KiB, unless only that file is
	// asked for.
	MaxDiff     = 2 << 20
	MaxFileDiff = 512 << 10
	// maxContext is the most unchanged lines around a change.
	maxContext = 1 << 20
	// maxDiffFiles is how many files are listed.
	maxDiffFiles = 5000
)

// Diff is what changed between two commits of the task, renames found. An empty from is the base commit, an empty to the recorded
// tip. Its text is cut after [MaxFileDiff] bytes of a file and [MaxDiff] in all, with a line in each place that says so.
func (g *Git) Diff(ctx context.Context, w amp.Workspace, from, to string, how amp.DiffOptions) (amp.Diff, error) {
	r, err := g.open(w.Repo)
	if err != nil {
		return amp.Diff{}, err
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
			return amp.Diff{}, err
		}
		if full == "" {
			return amp.Diff{}, fmt.Errorf("show a diff of %s: %q is no commit of the repository", w.TaskID, *p)
		}
		*p = full
	}
	d := amp.Diff{From: from, To: to}
	if d.Commits, err = r.count(ctx, from, to); err != nil {
		return d, fmt.Errorf("show a diff of %s: %w", w.TaskID, err)
	}
	all, err := r.changes(ctx, from, to, true)
	if err != nil {
		return d, err
	}
	if how.Path != "" {
		all = slices.DeleteFunc(all, func(c change) bool { return c.path != how.Path })
		if len(all) == 0 {
			return d, nil
		}
	}
	for _, c := range all[:min(len(all), maxDiffFiles)] {
		f := amp.DiffFile{
			Path: strings.ToValidUTF8(c.path, "\uFFFD"), From: strings.ToValidUTF8(c.from, "\uFFFD"),
			Added: c.added, Removed: c.removed, Binary: c.binary,
		}
		f.Planned = amp.PathAllowed(w.AllowedPaths, c.path) && (c.status != 'R' || amp.PathAllowed(w.AllowedPaths, c.from))
		d.Files = append(d.Files, f)
	}
	d.MoreFiles = len(all) - len(d.Files)
	if d.Text, err = g.diffText(ctx, r, from, to, how, all); err != nil {
		return d, fmt.Errorf("show a diff of %s: %w", w.TaskID, err)
	}
	return d, nil
}

// diffText is the unified diff, bounded for each file and in all.
func (g *Git) diffText(ctx context.Context, r *repo, from, to string, how amp.DiffOptions, all []change) (string, error) {
	lines := 3
	if how.Context > 0 {
		lines = min(how.Context, maxContext)
	}
	args := append([]string{
		"--literal-pathspecs", "diff", "-M", "--full-index", "-U" + strconv.Itoa(lines), "--inter-hunk-context=0",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short",
	}, diffFlags...)
	if how.IgnoreSpace {
		args = append(args, "--ignore-all-space")
	}
	args = append(args, from, to, "--")
	b := bounded{left: MaxDiff, perFile: MaxFileDiff, rest: fmt.Sprintf("git diff %s %s shows the whole", short(from), short(to))}
	if how.Path != "" {
		args, b.perFile = append(args, all[0].path), MaxDiff
		if all[0].from != "" {
			args = append(args, all[0].from)
		}
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pr.CloseWithError(b.read(pr)) // git ends when nobody reads on
	}()
	c := r.at()
	c.to = pw
	_, err := g.run(ctx, c, args...)
	_ = pw.Close()
	<-done
	if err != nil && !b.full {
		return "", err
	}
	return b.text.String(), nil
}
