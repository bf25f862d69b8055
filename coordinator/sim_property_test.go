package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// simJudge holds the world to what must be true of it. It folds the journal by itself.
type simJudge struct {
	s       *sim
	entries []amp.Entry
	board   *amp.Board
	// counted are the direct fixes whose verdict counts.
	counted map[string]bool
}

func newSimJudge(s *sim) *simJudge {
	return &simJudge{s: s, board: amp.NewBoard(), counted: map[string]bool{}}
}

// simCounts is how often what happened.
type simCounts map[string]int

func (c simCounts) add(o simCounts) {
	for k, n := range o {
		c[k] += n
	}
}

func (c simCounts) String() string {
	var keys []string
	for k := range c {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", c[k], k)
	}
	return strings.Join(keys, ", ")
}

// missing are the things that a simulation of many seeds must have seen.
func (c simCounts) missing(how simSetting) (out []string) {
	several := []string{"leases lost", "partitions", "failed calls", "lost answers of the store", "stale appends", "stopped machines"}
	if how.members == 1 {
		several = nil
	}
	if how.clones {
		several = append(several, "fetches", "failed pushes")
	}
	for _, k := range append(several,
		"crashes", "clock jumps", "pauses", "full disks", "restarts", "lost messages", "doubled messages", "doubled commands", "lost turns",
		"late reports", "ack timeouts", "redeliveries", "heartbeat timeouts", "locked", "suspended", "delivered", "terminated", "rejects", "fixes", "held fixes",
	) {
		if c[k] == 0 {
			out = append(out, k)
		}
	}
	return out
}

// maxSimEntries is more than any seed writes that comes to an end.
const maxSimEntries = 5000

// stored looks at each entry that a coordinator has stored, with the state before and after it.
func (j *simJudge) stored(n *simNode, appended []ssot.Appended) {
	s := j.s
	for i := range appended {
		a := &appended[i]
		if a.Err != nil {
			s.fail("append", "%s wrote what the journal does not take: %s: %v", n.name, a.Entry.ID, a.Err)
			continue
		}
		if !a.Fresh {
			continue
		}
		e := a.Entry
		s.tell("%s", s.words(&e))
		before := snapshot(j.board.Task(e.TaskID))
		if e.Kind == amp.KindMessage {
			j.dispatched(&e)
		}
		if err := j.board.Apply(e); err != nil {
			s.fail("fold", "%v", err)
			return
		}
		if j.entries = append(j.entries, e); len(j.entries) > maxSimEntries {
			s.fail("ends", "%d entries and no end", len(j.entries))
			return
		}
		if t := j.board.Task(e.TaskID); t != nil {
			j.moved(&e, before, t)
		}
	}
}

// taskBefore is what is kept of a task to compare it with what an entry made of it.
type taskBefore struct {
	known          bool
	status         amp.Status
	rejects, total int
	epoch          int
	turn, behind   string
	open           []amp.Obligation
}

func snapshot(t *amp.Task) (b taskBefore) {
	if t == nil {
		return b
	}
	b = taskBefore{known: true, status: t.Status, rejects: t.RejectCount, total: t.RejectTotal, epoch: t.Epoch, behind: t.Behind, open: slices.Clone(t.Open)}
	if t.Turn != nil {
		b.turn = t.Turn.TurnID
	}
	return b
}

// moved compares a task before and after an entry.
func (j *simJudge) moved(e *amp.Entry, was taskBefore, t *amp.Task) {
	s := j.s
	if t.RejectTotal < was.total || t.RejectCount < was.rejects && e.Kind != amp.KindCommand && e.Kind != amp.KindCheck {
		s.fail("rejects", "entry %d took %s from %d rejects (%d in all) to %d (%d)", e.Seq, t.ID, was.rejects, was.total, t.RejectCount, t.RejectTotal)
	}
	s.counts["rejects"] += t.RejectTotal - was.total
	if t.Status != was.status {
		s.counts[string(t.Status)]++
	}
	if t.Behind != was.behind && t.Behind != "" {
		j.counted[t.Commit] = true
		s.counts["fixes"]++
	}
	if t.Status == amp.Held && was.status != amp.Held && t.Fix != "" {
		s.counts["held fixes"]++
	}
	j.acks(e, was, t)
	if e.Kind == amp.KindRefusal {
		if r, err := amp.DecodeBody[amp.Refusal](e); err == nil && len(r.Problems) > 0 && r.Problems[0].Rule == amp.RuleEpoch {
			s.counts["late reports"]++
		}
	}
	if e.Kind == amp.KindCheck && t.Proof == e.Seq {
		for _, p := range s.order {
			if p.works() && p.task == t.ID {
				s.fail("suspended", "entry %d proves that nothing of %s runs, but turn %s does", e.Seq, t.ID, p.turn)
			}
		}
	}
	if e.Kind != amp.KindTurn {
		return
	}
	u, err := amp.DecodeBody[amp.Turn](e)
	if err != nil {
		s.fail("fold", "%v", err)
		return
	}
	switch u.Event {
	case amp.TurnStarted:
		if was.turn != "" {
			s.fail("one owner", "entry %d starts turn %s of %s while %s is open", e.Seq, u.TurnID, t.ID, was.turn)
		}
		if was.status == amp.Suspended || was.status == amp.Locked || was.status.Ended() || j.board.Stopped != nil || u.Epoch != was.epoch {
			s.fail("suspended", "entry %d starts a turn of %s, which is %s in epoch %d, of epoch %d", e.Seq, t.ID, was.status, was.epoch, u.Epoch)
		}
		s.outside(&u)
	case amp.TurnEnded:
		if u.Outcome == amp.TurnLost {
			s.counts["lost turns"]++
		}
	case amp.TurnRedelivered:
		s.counts["redeliveries"]++
	case amp.TurnProgress:
	}
}

// acks follows every message that wants an ACK: it stays due until it is acknowledged, answered, fenced with the task, or its silence
// is escalated.
func (j *simJudge) acks(e *amp.Entry, was taskBefore, t *amp.Task) {
	s := j.s
	if e.Kind == amp.KindMessage {
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			s.fail("fold", "%v", err)
			return
		}
		if p, is := m.Payload.(*amp.Escalation); is {
			switch p.EscalationType {
			case amp.AckTimeoutEsc:
				s.counts["ack timeouts"]++
			case amp.HeartbeatTimeout:
				s.counts["heartbeat timeouts"]++
			default:
			}
		}
		if m.RequiresAck && t.Epoch == was.epoch && t.Obligation(m.MsgID) == nil {
			s.fail("acks", "entry %d, %s, wants an ACK and none is due", e.Seq, m.MsgID)
		}
	}
	for _, o := range was.open {
		if t.Obligation(o.MsgID) != nil {
			continue
		}
		switch e.Kind {
		case amp.KindAck:
			if a, err := amp.DecodeBody[amp.Ack](e); err == nil && a.AckFor == o.MsgID {
				continue
			}
		case amp.KindMessage:
			m, _, _ := amp.Decode(e.Body)
			if p, is := m.Payload.(*amp.Escalation); is && p.AutoSuspended && t.Epoch > was.epoch {
				continue
			}
			if m.Type == amp.TaskResult && o.Type == amp.TaskDispatch || m.Type == amp.ReviewVerdict && o.Type == amp.ReviewRequest {
				continue
			}
		default: // a decision ended the task, locked or rolled it back, see below
		}
		if t.Epoch > was.epoch { // the verdict that locks it
			continue
		}
		s.fail("acks", "the ACK of %s was dropped by entry %d, a %s", o.MsgID, e.Seq, e.Kind)
	}
}

// dispatched holds a dispatch to the approval that it stands on; the board is as it was before.
func (j *simJudge) dispatched(e *amp.Entry) {
	m, _, err := amp.Decode(e.Body)
	if err != nil {
		return
	}
	t := j.board.Task(e.TaskID)
	if m.Type == amp.ReviewRequest && (t.Status != amp.Verifying || t.Result == nil || t.Request != nil) {
		j.s.fail("one review", "entry %d asks for a review of %s, which is %s and has %v", e.Seq, t.ID, t.Status, t.Request)
	}
	if m.Type != amp.TaskDispatch {
		return
	}
	d := m.Payload.(*amp.Dispatch)
	if t.Status != amp.Dispatched || t.Next == "" {
		j.s.fail("one dispatch", "entry %d dispatches %s, which is %s after %v", e.Seq, t.ID, t.Status, t.Dispatch)
	}
	if why := j.unapproved(t); why != "" {
		j.s.fail("approval", "entry %d dispatches %s: %s", e.Seq, t.ID, why)
		return
	}
	p := t.Plan
	if d.Repo != p.Repo || d.Branch != p.Branch || d.RiskLevel != p.RiskLevel || !slices.Equal(d.AcceptanceCriteria, p.AcceptanceCriteria) ||
		!slices.Equal(d.Subtasks, p.Subtasks) || !strings.HasPrefix(d.Description, p.Description) {
		j.s.fail("approval", "entry %d dispatches something else than plan revision %d of %s", e.Seq, p.Revision, t.ID)
	}
}

// unapproved says why nobody has approved the content of a task's plan, "" when somebody has.
func (j *simJudge) unapproved(t *amp.Task) string {
	if t == nil || t.Plan == nil || t.Approval == nil {
		return "nothing is approved"
	}
	if t.Plan.ContentHash() != t.Plan.Hash || t.Approval.Hash != t.Plan.Hash || t.Approval.Revision != t.Plan.Revision {
		return fmt.Sprintf("revision %d (%s) is approved, it stands at %d (%s)", t.Approval.Revision, t.Approval.Hash, t.Plan.Revision, t.Plan.ContentHash())
	}
	cmd, err := amp.DecodeBody[amp.Command](&j.entries[t.Approval.Seq-1])
	if err != nil || cmd.Command != amp.Approve || cmd.TaskID != t.ID || cmd.By != t.Approval.By || t.Approval.Seq < t.PlanSeq ||
		cmd.Expects != nil && cmd.Expects.Hash != "" && !strings.HasPrefix(t.Plan.Hash, cmd.Expects.Hash) {
		return fmt.Sprintf("entry %d is no approval of it", t.Approval.Seq)
	}
	return ""
}

// follows looks at a branch in the moment when it follows to direct fixes.
func (j *simJudge) follows(w amp.Workspace) {
	if !j.counted[w.Commit] {
		j.s.fail("fixes", "the branch of %s follows to %s, and no verdict that counts made that", w.TaskID, w.Commit)
	}
}

// delivers looks at a delivery in the moment when git would carry it out.
func (j *simJudge) delivers(w amp.Workspace) {
	s, t := j.s, j.board.Task(w.TaskID)
	if why := j.unapproved(t); why != "" {
		s.fail("approval", "%s is delivered: %s", w.TaskID, why)
		return
	}
	if w.Commit != t.Commit || w.PlanHash != t.Plan.Hash || t.Status != amp.StatusApproved || t.Doing == nil {
		s.fail("approval", "%s is %s at %s, and %s is delivered", t.ID, t.Status, t.Commit, w.Commit)
		return
	}
	if t.Behind != "" {
		s.fail("fixes", "%s is delivered before its branch has followed to %s", t.ID, t.Commit)
	}
	cmd, err := amp.DecodeBody[amp.Command](&j.entries[t.Doing.Seq-1])
	if err != nil || cmd.Command != amp.Deliver || cmd.TaskID != t.ID {
		s.fail("approval", "%s is delivered by entry %d, which is no such command", t.ID, t.Doing.Seq)
	}
}

// started looks at a turn in the moment when its process starts.
func (j *simJudge) started(n *simNode, p *proc, turn *providers.Turn) {
	s, t := j.s, j.board.Task(p.task)
	s.counts["turns"]++
	if !p.works() { // its machine stood still, and is about to see that its lease is gone
		return
	}
	for _, other := range s.order {
		if other.works() && other.task == p.task {
			s.fail("one owner", "%s starts turn %s of %s while turn %s, started by %s, still runs", n.name, p.turn, p.task, other.turn, other.node.name)
		}
	}
	if t.Turn == nil || t.Turn.TurnID != turn.ID {
		s.fail("one owner", "%s starts the process of turn %s of %s, which the journal does not know as the open one", n.name, p.turn, p.task)
	}
}

// settled looks at a coordinator that has nothing more to derive.
func (j *simJudge) settled(n *simNode) {
	s, c := j.s, n.c
	if c.stalled.After(c.now()) {
		return // the store is full: it tries again later
	}
	if c.team != nil && c.board.Head != j.board.Head {
		return // it will see what the others wrote
	}
	if c.board.Head != j.board.Head {
		s.fail("board", "%s is at %v, the journal at %v", n.name, c.board.Head, j.board.Head)
		return
	}
	for _, id := range j.board.Order {
		t := j.board.Task(id)
		if !j.still(t) || t.Turn == nil {
			continue
		}
		if l := c.live[t.Turn.TurnID]; l != nil && l.why.Load() == nil && !l.lost() {
			s.fail("suspended", "%s is %s, and %s lets turn %s run", id, t.Status, n.name, t.Turn.TurnID)
		}
	}
}

// still reports whether nothing of a task may run.
func (j *simJudge) still(t *amp.Task) bool {
	return t.Status == amp.Suspended || t.Status == amp.Locked || t.Status.Ended() || j.board.Stopped != nil
}

// due looks at a coordinator whose timer has fired: no ACK is overdue unless a person is waited for.
func (j *simJudge) due(n *simNode) {
	now := n.c.now()
	if n.c.stalled.After(now) || n.c.board.Head != j.board.Head {
		return
	}
	for _, id := range j.board.Order {
		t := j.board.Task(id)
		if j.still(t) || len(t.Questions) > 0 || len(t.Waiting) > 0 || n.c.team != nil && n.c.under(id) == nil {
			continue
		}
		if _, taken := n.c.wanted[id]; taken { // just now: the loop is still to be told
			continue
		}
		for _, o := range t.Open {
			if !now.Before(o.Deadline()) {
				j.s.fail("acks", "%s of %s was due %s ago at %s, and nobody is told", o.MsgID, id, now.Sub(o.Deadline()), n.name)
			}
		}
	}
}

// same compares a coordinator's board with the journal's fold.
func (j *simJudge) same(n *simNode) {
	if n.down || n.c.board.Head != j.board.Head {
		return
	}
	have, want := amp.EncodeBody(n.c.board), amp.EncodeBody(j.board)
	if !bytes.Equal(have, want) {
		j.s.fail("board", "the board of %s is not the fold of the journal\nhave %s\nwant %s", n.name, have, want)
	}
}

// ended looks at the whole journal in the end.
func (j *simJudge) ended() {
	s := j.s
	for _, n := range s.nodes {
		j.same(n)
	}
	for _, id := range j.board.Order {
		if t := j.board.Task(id); t.Behind != "" && !j.still(t) {
			s.fail("fixes", "the branch of %s never followed to %s", id, t.Commit)
		}
	}
	head := amp.Head{}
	for i := range j.entries {
		e := j.entries[i]
		if linked := head.Chain(e.Record); linked.Hash != e.Hash || linked.Seq != e.Seq {
			s.fail("journal", "entry %d does not follow from the one before", e.Seq)
		}
		head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	}
	if s.seed%8 == 0 { // it takes as long as all the rest
		if err := ssottest.CheckJournal(context.Background(), s.log); err != nil {
			s.fail("journal", "%v", err)
		}
	}
	for _, err := range ssottest.CheckRounds(j.entries, "outsider", "stranger") {
		s.fail("rounds", "%v", err)
	}
}

// words are an entry in one line.
func (s *sim) words(e *amp.Entry) string {
	if !s.story {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, e.Body) != nil {
		b.Write(e.Body)
	}
	text := b.String()
	return fmt.Sprintf("#%d %s %s %s %s %s at %s %s", e.Seq, e.TaskID, e.Kind, e.Role, e.Actor, e.ID, e.At.Format(time.TimeOnly), text[:min(len(text), 400)])
}
