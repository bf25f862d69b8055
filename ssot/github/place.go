package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
)

// place is where a branch stands: its commit, and what of it is ours. Without a commit the branch is to be made.
type place struct {
	Commit string `json:"commit,omitzero"`
	Tree   string `json:"tree,omitzero"`
	// Ours are the names of the mirror at the top of the tree, with their objects.
	Ours   map[string]string `json:"ours,omitzero"`
	Readme bool              `json:"readme,omitzero"`
	Head   Head              `json:"head"`
}

// DivergedError says that the mirror does not hold what was written into it, or not what the journal holds. Trying again mends nothing.
type DivergedError struct {
	What   string
	Commit string
}

// Error says what was found, and in which commit.
func (e *DivergedError) Error() string {
	if e.Commit == "" {
		return e.What
	}
	return fmt.Sprintf("%s (commit %.12s)", e.What, e.Commit)
}

func oursOf(rows []row) map[string]string {
	out := map[string]string{}
	for _, r := range rows {
		if slices.Contains(ours, r.path) {
			out[r.path] = r.sha
		}
	}
	return out
}

// foreign are the rows at the top that are not ours.
func foreign(rows []row) (out []row) {
	for _, r := range rows {
		if !slices.Contains(ours, r.path) {
			out = append(out, r)
		}
	}
	return out
}

func (p *place) same(o *place) bool {
	if o == nil || len(p.Ours) != len(o.Ours) {
		return false
	}
	for name, sha := range p.Ours {
		if o.Ours[name] != sha {
			return false
		}
	}
	return true
}

// locate finds out where the branch stands. What was known of it stays known when the files of the mirror are still the same.
func (m *Mirror) locate(ctx context.Context) error {
	m.recall()
	if idle := m.State().Behind == 0; idle && m.at != nil && m.pending == nil && !m.anew && time.Since(m.looked) < lookEvery {
		return nil
	}
	sha, err := m.remote.head(ctx)
	if m.stale(sha, err) {
		return errStale
	}
	switch {
	case errors.Is(err, errEmpty):
		if err := m.remote.first(ctx, []byte(readme)); err != nil {
			return fmt.Errorf("write the first commit: %w", err)
		}
		m.begin("the repository has no commit")
		m.looked = time.Time{}
		if sha, err = m.remote.head(ctx); errors.Is(err, errNoBranch) {
			m.looked = time.Now() // it is the default branch that was made
			return nil
		}
		if err != nil {
			return err
		}
	case errors.Is(err, errNoBranch):
		m.begin("the branch is not there")
		m.looked = time.Now()
		return nil
	case err != nil:
		return err
	}
	found := m.known(sha)
	if found == nil {
		if found, err = m.look(ctx, sha); err != nil {
			return err
		}
	}
	if p := m.pending; p != nil && (found == p || found.same(p)) && !m.anew {
		m.landed(found)
		return nil
	}
	if err := m.adopt(ctx, found); err != nil {
		return err
	}
	m.pending, m.looked = nil, time.Now()
	return nil
}

// stalePatience is how long the branch may be shown as it was before: then it was set back, or deleted.
const stalePatience = 2 * time.Minute

// stale reports an answer that shows the branch as it was before the last commit, a moment after it was made.
func (m *Mirror) stale(sha string, err error) bool {
	if m.at == nil || m.pending != nil || m.anew || time.Since(m.moved) > stalePatience {
		return false
	}
	return err == nil && sha == m.before || errors.Is(err, errNoBranch) && m.before == ""
}

// known is the place of a commit that needs no look.
func (m *Mirror) known(sha string) *place {
	for _, p := range []*place{m.pending, m.at} {
		if p != nil && p.Commit == sha {
			return p
		}
	}
	return nil
}

// begin makes ready to write everything anew into a branch that does not exist.
func (m *Mirror) begin(why string) {
	if m.at != nil && m.at.Head.Seq > 0 {
		m.cfg.Logger.Warn("the mirror is written anew from the first entry", "why", why)
	}
	m.restart(&place{})
}

// restart stands at a place without entries. Begun tells a reader of the history that the head goes back on purpose, so it always grows.
func (m *Mirror) restart(at *place) {
	begun, held := at.Head.Begun, at.Head.Seq > 0
	if m.at != nil {
		begun, held = max(begun, m.at.Head.Begun), held || m.at.Head.Seq > 0
	}
	switch {
	case begun == 0 && len(at.Ours) > 0: // nobody can tell any more: it is above every count
		begun = int(time.Now().Unix())
	case begun == 0 || held:
		begun++
	}
	at.Head = Head{Begun: begun}
	m.at, m.pending, m.released = at, nil, map[uint64]bool{}
	m.dirty = map[amp.TaskID]struct{}{}
	m.board = nil
}

// look reads a commit that somebody else made, or that was made before this start.
func (m *Mirror) look(ctx context.Context, sha string) (*place, error) {
	tree, err := m.remote.treeOf(ctx, sha)
	if err != nil {
		return nil, err
	}
	rows, err := m.remote.tree(ctx, tree)
	if err != nil {
		return nil, err
	}
	p := &place{Commit: sha, Tree: tree, Ours: oursOf(rows)}
	p.Readme = slices.ContainsFunc(rows, func(r row) bool { return r.path == readmeFile })
	for _, old := range []*place{m.pending, m.at} {
		if old != nil && old.Commit != "" && p.same(old) {
			p.Head = old.Head
			return p, nil
		}
	}
	blob, ok := p.Ours[headFile]
	if !ok {
		return p, nil
	}
	data, err := m.remote.blob(ctx, blob)
	if err != nil {
		return nil, err
	}
	if p.Head, err = decodeHead(data); err != nil && !m.anew {
		return nil, &DivergedError{What: "somebody changed the mirror: " + err.Error(), Commit: sha}
	}
	return p, nil
}

// adopt goes on from a place, unless the files of the mirror are not what they were, or the journal is another one.
func (m *Mirror) adopt(ctx context.Context, p *place) error {
	if m.anew {
		m.restart(p)
		return nil
	}
	if m.at == nil || p != m.at && !p.same(m.at) {
		if err := m.judgeFound(ctx, p); err != nil {
			return err
		}
	}
	if p.Head.Seq == 0 {
		m.restart(p)
		return nil
	}
	if err := m.agrees(ctx, p); err != nil {
		return err
	}
	first := m.at == nil
	m.at = p
	if first || m.board == nil {
		return m.recollect(ctx)
	}
	return nil
}

// judgeFound decides about a commit whose files of ours are others than were known.
func (m *Mirror) judgeFound(ctx context.Context, p *place) error {
	diverged := func(format string, args ...any) error {
		return &DivergedError{What: fmt.Sprintf(format, args...), Commit: p.Commit}
	}
	if p.Ours[headFile] == "" && len(p.Ours) > 0 {
		return diverged("the branch holds files of a mirror without %s", headFile)
	}
	if m.at == nil || m.at.Head.Seq == 0 {
		return nil
	}
	if p.Head.Seq == 0 {
		there, err := m.remote.has(ctx, m.at.Commit)
		if err != nil {
			return err
		}
		if !there {
			m.cfg.Logger.Warn("the repository is another one than before: the mirror is written anew from the first entry")
			return nil
		}
		return diverged("somebody removed the files of the mirror, which held entries up to %d", m.at.Head.Seq)
	}
	switch {
	case p.Head.Seq < m.at.Head.Seq:
		return diverged("somebody set the mirror back from entry %d to %d", m.at.Head.Seq, p.Head.Seq)
	case p.Ours[headFile] == m.at.Ours[headFile]:
		return diverged("somebody changed files of the mirror: %s", changed(m.at.Ours, p.Ours))
	}
	for _, dir := range []string{entriesDir, releasedDir} {
		path, err := m.grown(ctx, dir, m.at.Ours[dir], p.Ours[dir])
		if err != nil {
			return err
		}
		if path != "" {
			return diverged("somebody changed %s, which is never written twice", path)
		}
	}
	return nil
}

// changed names what differs at the top.
func changed(a, b map[string]string) string {
	for _, name := range ours {
		if a[name] != b[name] {
			return name
		}
	}
	return "?"
}

// grown names the first file below a folder that was changed or removed between two trees; only later files may have come. Files are
// named in order, so only the last folder of each can differ, and a look takes two requests for each level.
func (m *Mirror) grown(ctx context.Context, dir, before, after string) (string, error) {
	if before == after || before == "" {
		return "", nil
	}
	if after == "" {
		return dir, nil
	}
	was, err := m.remote.tree(ctx, before)
	if c := status(err); c == 404 || c == 422 {
		return dir, nil // what was written is not even kept
	}
	if err != nil {
		return "", err
	}
	is, err := m.remote.tree(ctx, after)
	if err != nil {
		return "", err
	}
	for i, old := range was {
		path := dir + "/" + old.path
		switch {
		case i >= len(is) || is[i].path != old.path || is[i].kind != old.kind:
			return path, nil
		case is[i].sha == old.sha:
		case i == len(was)-1 && old.kind == "tree":
			return m.grown(ctx, path, old.sha, is[i].sha)
		default:
			return path, nil
		}
	}
	return "", nil
}

// agrees wants the head of the mirror to be a position of the journal.
func (m *Mirror) agrees(ctx context.Context, p *place) error {
	head, err := m.cfg.Log.Head(ctx)
	if err != nil {
		return err
	}
	if p.Head.Seq > head.Seq {
		return &DivergedError{
			What:   fmt.Sprintf("the mirror holds entries up to %d, the journal here ends at %d: it lost entries, or was restored from an older copy", p.Head.Seq, head.Seq),
			Commit: p.Commit,
		}
	}
	at, err := m.cfg.Log.Read(ctx, amp.Filter{After: p.Head.Seq - 1, Before: p.Head.Seq + 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(at) != 1 || at[0].Hash != p.Head.Hash {
		return &DivergedError{What: fmt.Sprintf("the mirror holds another journal: its entry %d has hash %.16s", p.Head.Seq, p.Head.Hash), Commit: p.Commit}
	}
	return nil
}
