package gitops

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// Blame is where a line of a checked out file comes from.
type Blame struct {
	// Text is the line as it is in the checkout.
	Text string
	// Commit changed the line last, empty when it is not committed. Author and Subject are what it says, untrusted.
	Commit  string
	Author  string
	At      time.Time
	Subject string
	// Claims are the tasks named by the commit, and by the merges that brought it here, the closest first. Anybody can write such a
	// name; [Git.Within] tells whether a task's verified work holds the commit.
	Claims []amp.TaskID
}

// Blame says which commit changed a line last, counted from 1, of a file in the checkout of a repository. It changes nothing.
func (g *Git) Blame(ctx context.Context, root, file string, line int) (b Blame, err error) {
	r, err := g.open(root)
	if err != nil {
		return b, err
	}
	at := strconv.Itoa(line)
	// A line belongs to whoever committed it, whatever the repository's configuration would have skipped.
	out, err := g.run(ctx, r.checkoutOf(root), "blame", "--ignore-revs-file=", "--porcelain", "-L", at+","+at, "--", file)
	if err != nil {
		return b, fmt.Errorf("find who wrote %s:%d: %w", file, line, err)
	}
	head, rest, _ := strings.Cut(out, "\n")
	b.Commit, _, _ = strings.Cut(head, " ")
	for l := range strings.Lines(rest) {
		l = strings.TrimSuffix(l, "\n")
		if text, is := strings.CutPrefix(l, "\t"); is {
			b.Text = text
			break
		}
		switch name, value, _ := strings.Cut(l, " "); name {
		case "author":
			b.Author = value
		case "author-time":
			if sec, err := strconv.ParseInt(value, 10, 64); err == nil {
				b.At = time.Unix(sec, 0).UTC()
			}
		case "summary":
			b.Subject = value
		}
	}
	if strings.Trim(b.Commit, "0") == "" {
		b.Commit = ""
		return b, nil
	}
	b.Claims, err = r.claims(ctx, r.checkoutOf(root), b.Commit)
	return b, err
}

// maxClaims bounds how many names of tasks are looked at.
const maxClaims = 20

// claims are the tasks that a commit and the merges above it name in their trailers.
func (r *repo) claims(ctx context.Context, c call, commit string) (all []amp.TaskID, err error) {
	const format = "--format=%(trailers:key=Task,valueonly,separator=%x20)"
	own, err := r.g.run(ctx, c, "show", "-s", format, commit)
	if err != nil {
		return nil, fmt.Errorf("read the trailers of %s: %w", short(commit), err)
	}
	c.max = 1 << 20
	above, err := r.g.run(ctx, c, "log", "--ancestry-path", "--merges", "--reverse", format, commit+"..HEAD")
	if err != nil && above == "" {
		return nil, fmt.Errorf("read the merges above %s: %w", short(commit), err)
	}
	seen := map[string]bool{}
	for name := range strings.FieldsSeq(own + " " + above) {
		if !seen[name] && len(all) < maxClaims {
			seen[name] = true
			all = append(all, amp.TaskID(name))
		}
	}
	return all, nil
}

// Within reports whether the work from base to tip holds a commit. Commits that the repository does not have hold nothing.
func (g *Git) Within(ctx context.Context, root, commit, base, tip string) (bool, error) {
	r, err := g.open(root)
	if err != nil {
		return false, err
	}
	for _, c := range []string{commit, base, tip} {
		if got, err := r.commit(ctx, c); err != nil || got == "" {
			return false, err
		}
	}
	in, err := r.ancestor(ctx, commit, tip)
	if err != nil || !in {
		return false, err
	}
	old, err := r.ancestor(ctx, commit, base)
	return !old, err
}
