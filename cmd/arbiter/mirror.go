package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
)

func newMirror(a *app) *cobra.Command {
	return group("mirror", "The mirror of the journal on GitHub: how far it is, and what was withheld from it",
		newMirrorStatus(a), newMirrorPush(a), newMirrorAllow(a))
}

// mirrored gives f the configured mirror on the journal, which it only reads.
func (a *app) mirrored(ctx context.Context, changed func(amp.MirrorState), f func(*github.Mirror, ssot.Log, *config) error) (err error) {
	if err := a.elsewhere(); err != nil {
		return err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	file, _ := a.configPath()
	if cfg.Mirror.Repo == "" {
		return &usageError{what: "no mirror is configured", next: "Add [mirror] with repo and a token to " + file + "; docs/mirror.md says how."}
	}
	log, home, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m, err := cfg.mirror(home, filepath.Dir(file), log, slog.New(slog.DiscardHandler), changed)
	if err != nil {
		return err
	}
	return f(m, log, cfg)
}

func newMirrorStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say how far the mirror is, what it waits for, and what was withheld", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			return a.mirrored(c.Context(), nil, func(m *github.Mirror, log ssot.Log, _ *config) error {
				s, err := lagOf(c.Context(), m.State(), log)
				if err != nil {
					return err
				}
				a.printMirror(&s)
				return nil
			})
		}),
	}
}

// lagOf brings a state up to the journal of now.
func lagOf(ctx context.Context, s amp.MirrorState, log ssot.Log) (amp.MirrorState, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return s, err
	}
	s.Behind, s.Oldest = head.Seq-min(head.Seq, s.Head.Seq), time.Time{}
	next, err := log.Read(ctx, amp.Filter{After: s.Head.Seq, Limit: 1})
	if len(next) > 0 {
		s.Oldest = next[0].At
	}
	return s, err
}

func (a *app) printMirror(s *amp.MirrorState) {
	if a.json {
		a.outJSON(s)
		return
	}
	now := time.Now()
	t := &table{}
	t.add("repository", s.Repo+", branch "+s.Branch)
	if s.Public {
		t.add("PUBLIC", "everybody may read it, and not everything that is secret is found before it is sent")
		t.add("", "→ "+publicNext)
	}
	t.add("mirrored", fmt.Sprintf("entry %d, hash %s", s.Head.Seq, short(s.Head.Hash.String())))
	if lag := s.Lag(now); s.Behind > 0 {
		t.add("behind", fmt.Sprintf("%s, for %s", entriesOf(int(s.Behind)), span(lag)))
	} else {
		t.add("behind", "nothing is missing")
	}
	if s.Commit != "" {
		at := ""
		if !s.CommitAt.IsZero() {
			at = ", " + ago(s.CommitAt, now) + " ago"
		}
		t.add("last commit", s.Commit+at)
	}
	if s.Trouble != "" {
		word := "waits"
		if s.Stopped {
			word = "STOPPED"
		}
		t.add(word, s.Trouble)
		if s.Until.After(now) && !s.Stopped {
			t.add("", "again in "+span(s.Until.Sub(now)))
		}
		t.add("", "→ "+s.Next)
	}
	for _, w := range s.Withheld[max(0, len(s.Withheld)-maxWithheld):] {
		t.add("withheld", fmt.Sprintf("entry %d: %s", w.Seq, w.Rule))
	}
	if s.WithheldCount > 0 {
		t.add("", "→ "+withheldNext)
	}
	t.print(a)
}

const publicNext = "Make it private again in its settings, and renew what may have been read; the mirror goes on meanwhile."

// maxWithheld is how many withheld entries are printed for a person.
const maxWithheld = 20

func newMirrorPush(a *app) *cobra.Command {
	rebuild := false
	c := &cobra.Command{
		Use: "push", Short: "Bring the mirror up to date now", Args: takes(),
		Long: "Writes everything that the mirror does not have yet, and waits for the limits of GitHub meanwhile. It may run beside a coordinator.\n" +
			"--rebuild writes the mirror anew from the first entry, upon whatever stands in the branch; its history stays.",
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			p := a.progress("entries")
			defer p.end()
			said := ""
			changed := func(s amp.MirrorState) {
				p.show(s.Head.Seq, s.Head.Seq+s.Behind)
				if s.Trouble != "" && s.Trouble != said {
					p.end()
					a.complain("arbiter: " + safe(s.Trouble) + "; again at " + s.Until.Local().Format(time.TimeOnly))
				}
				said = s.Trouble
			}
			return a.mirrored(c.Context(), changed, func(m *github.Mirror, log ssot.Log, _ *config) error {
				if rebuild {
					m.Rebuild()
				}
				err := m.Push(c.Context())
				p.end()
				s := m.State()
				if err != nil {
					return &mirrorError{state: s, err: err}
				}
				a.printMirror(&s)
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&rebuild, "rebuild", false, "write the mirror anew from the first entry")
	return c
}

// mirrorError is a mirror that does not go on by itself.
type mirrorError struct {
	state amp.MirrorState
	err   error
}

func (e *mirrorError) Error() string {
	if errors.Is(e.err, github.ErrElsewhere) || e.state.Trouble == "" {
		return e.err.Error()
	}
	return e.state.Trouble
}

func (e *mirrorError) Unwrap() error { return e.err }

// explainMirror says what an error of the mirror means.
func explainMirror(err error, e *explanation) bool {
	if x, ok := errors.AsType[*differError](err); ok {
		e.Means = fmt.Sprintf("%s agree, then one of the two is not what was written.", entriesOf(int(x.report.Agree)))
		e.Next = "Check the journal here by itself: arbiter journal verify. Then look at the mirror's history: git log"
		return true
	}
	x, ok := errors.AsType[*mirrorError](err)
	if !ok {
		return false
	}
	e.Means = fmt.Sprintf("The mirror ends at entry %d. The journal is not touched by that.", x.state.Head.Seq)
	if e.Next = x.state.Next; e.Next == "" {
		e.Next = "See arbiter mirror status."
	}
	return true
}

func newMirrorAllow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "allow SEQ...", Short: "Say that what was found in these entries is no secret; they are mirrored then",
		Args: func(c *cobra.Command, args []string) error { return takes("a SEQ")(c, args[:min(len(args), 1)]) },
		Long: "Says that what was found in these entries is no secret, or one that is worth nothing any more. Their content is mirrored then, and\n" +
			"the same text is not withheld again. An entry with a secret that is configured here is refused: renew that one first.",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			var seqs []uint64
			for _, arg := range args {
				seq, err := strconv.ParseUint(arg, 10, 64)
				if err != nil || seq == 0 {
					return usage("%q is no number of an entry", arg).then("See which were withheld: arbiter mirror status")
				}
				seqs = append(seqs, seq)
			}
			return a.mirrored(c.Context(), nil, func(_ *github.Mirror, log ssot.Log, cfg *config) error {
				return a.allow(c.Context(), log, cfg, seqs)
			})
		}),
	}
}

func (a *app) allow(ctx context.Context, log ssot.Log, cfg *config, seqs []uint64) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	file, _ := a.configPath()
	known := cfg.secrets(filepath.Dir(file))()
	if token, err := cfg.Mirror.source().key(filepath.Dir(file))(); err == nil {
		known = append(known, github.Known{Name: "the token of the mirror", Value: token})
	}
	scan := github.NewScanner(known, nil)
	now := time.Now().UTC().Truncate(time.Millisecond)
	var all []github.Allowed
	for _, seq := range seqs {
		e, err := log.Read(ctx, amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1})
		if err != nil {
			return err
		}
		if len(e) == 0 {
			return &notFoundError{what: fmt.Sprintf("there is no entry %d", seq), next: "See which were withheld: arbiter mirror status"}
		}
		for _, f := range scan.Entry(&e[0]) {
			if f.Known {
				return &amp.RefusedError{
					What: fmt.Sprintf("mirroring entry %d", seq), Problems: []amp.Problem{{Rule: "secret", Field: "body", Message: "it holds " + f.Rule + ", which is in use"}},
					Next: "Renew that secret and change the configuration, then allow the entry.",
				}
			}
		}
		all = append(all, github.Allowed{Seq: seq, By: osUser(), At: now})
	}
	if err := github.Allow(mirrorDir(home), all...); err != nil {
		return err
	}
	if a.json {
		a.outJSON(all)
		return nil
	}
	a.out("Allowed; the next commit of the mirror brings %s. At once: arbiter mirror push\n", entriesOf(len(all)))
	return nil
}
