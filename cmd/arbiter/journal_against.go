package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
)

// verifyAgainst holds the journal against a clone of its mirror, or against a repository, of which a clone is made first.
func (a *app) verifyAgainst(ctx context.Context, where string) (err error) {
	if err := a.elsewhere(); err != nil {
		return err
	}
	log, home, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return a.withClone(ctx, where, func(c *github.Clone) error { return a.compare(ctx, log, home, where, c) })
}

func (a *app) compare(ctx context.Context, log ssot.Log, home, where string, c *github.Clone) error {
	p := a.progress("entries")
	defer p.end()
	checks := github.Checks{Version: version(), Progress: p.show}
	if kept, err := github.Read(mirrorDir(home)); err == nil && kept != nil && (where == kept.State.Repo || c.Commit != "") {
		checks.Known, checks.KnownSeq = kept.State.Commit, kept.State.Head.Seq
		checks.Current = c.Dir != where
	}
	r, err := github.Compare(ctx, log, c, checks)
	p.end()
	if err != nil {
		return cloneError(err)
	}
	return a.reportAgainst(where, &r)
}

func cloneError(err error) error {
	if errors.Is(err, github.ErrNoMirror) {
		return usage("%s", err.Error()).then("Name a clone of the mirror, made by git clone, or the repository as owner/name.")
	}
	return err
}

func (a *app) reportAgainst(where string, r *github.Report) error {
	if a.json {
		a.outJSON(struct {
			Verified bool `json:"verified"`
			*github.Report
		}{r.Difference == nil, r})
		if r.Difference != nil {
			return &quietError{code: exitFailed}
		}
		return nil
	}
	if r.Difference != nil {
		return &differError{where: where, report: r}
	}
	a.out("Journal and mirror agree: %s, hash %s\n", entriesOf(int(r.Agree)), r.Mirror.Hash)
	if n := r.Journal.Seq - r.Agree; n > 0 {
		a.out("%s of the journal behind them are not in the mirror yet.\n", entriesOf(int(n)))
	}
	a.out("%s of tasks and %s of its history agree too.\n", plural(r.Tasks, "file"), plural(r.Commits, "head"))
	if r.WithheldCount > 0 {
		var seqs []string
		for _, w := range r.Withheld {
			seqs = append(seqs, fmt.Sprintf("%d (%s)", w.Seq, safe(w.Rule)))
		}
		a.out("%s withheld from the mirror: their hashes agree, which this journal proves and the mirror alone cannot: %s\n",
			entriesOf(r.WithheldCount), strings.Join(seqs, ", "))
	}
	for _, n := range r.Notes {
		a.out("Note: %s\n", safe(n))
	}
	return nil
}

// differError is a mirror and a journal that do not agree.
type differError struct {
	where  string
	report *github.Report
}

func (e *differError) Error() string {
	return "journal and mirror differ at " + e.report.Difference.Error()
}

// importMirror makes the journal of this data directory from a clone of its mirror.
func (a *app) importMirror(ctx context.Context, where, with string) error {
	return a.withClone(ctx, where, func(c *github.Clone) error { return a.importClone(ctx, c, where, with) })
}

func (a *app) importClone(ctx context.Context, c *github.Clone, where, with string) (err error) {
	if with != "" {
		if err := a.supply(ctx, c, with); err != nil {
			return err
		}
	}
	p := a.progress("entries")
	defer p.end()
	missing, err := c.Missing(ctx, p.show)
	p.end()
	const nothing = "Nothing was stored."
	switch d, isDifference := errors.AsType[*github.Difference](err); {
	case isDifference:
		return &usageError{what: "the mirror in " + where + " is not whole: " + d.Error(), means: nothing, next: "Clone it again, or look at the commit before: git log"}
	case err != nil:
		return cloneError(err)
	case missing != nil:
		return &usageError{
			what: missing.Error(), means: nothing + " A journal without them would have another head.",
			next: "Supply them from an export of the journal, also of a part: arbiter journal import --mirror " + where + " --with FILE",
		}
	}
	log, err := a.ownJournal(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	_, n, err := ssot.Copy(ctx, c, log, p.show)
	p.end()
	if err != nil {
		return takeover(err, n, "Import into an empty data directory: --home DIR")
	}
	return a.reportHead(ctx, log, "imported", n)
}

// supply takes entries that the mirror may not have from an export.
func (a *app) supply(ctx context.Context, c *github.Clone, file string) error {
	in, size, err := a.input(file)
	if err != nil {
		return err
	}
	defer in.Close()
	p := a.progress("KB")
	defer p.end()
	missing, err := c.Withheld(ctx)
	if err != nil {
		return err
	}
	_, err = ssot.ReadExport(ctx, in, p.bytes(size), func(e *amp.Entry) error {
		if missing[e.Seq] {
			c.Supply(*e)
		}
		return nil
	})
	if line, ok := errors.AsType[*ssot.LineError](err); ok && line.Newer {
		return &usageError{what: file + ", " + line.Error(), means: "A newer version of Arbiter wrote it. Nothing was stored.", next: newerNext}
	} else if ok {
		return &usageError{what: file + ", " + line.Error(), means: "Nothing was stored.", next: "Name an export that verifies: arbiter journal verify --file " + file}
	}
	return err
}
