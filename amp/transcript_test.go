package amp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"arbiter/amp"
)

var update = flag.Bool("update", false, "rewrite what the transcripts want")

// TestTranscripts plays conversations: messages, ACKs, commands and checks in, verdicts and states out. A file of an archive is one
// thing that comes in, named by what it is: a payload under the name of its message type ("as ROLE" when another role hands it in),
// "raw ROLE" for whole bytes, "ack ROLE", "command", "plan", "check". ${task_dispatch} and the like stand for the last msg_id of that
// type. The last file holds what is wanted.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a := txtar.Parse(readFile(t, name))
			last := len(a.Files) - 1
			if last < 1 || a.Files[last].Name != "want" {
				t.Fatal("the last file must be want")
			}
			p := newPlay(t)
			for _, f := range a.Files[:last] {
				p.take(f.Name, f.Data)
			}
			got := p.out.String()
			if *update {
				a.Files[last].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := diff(string(a.Files[last].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// play is a journal that takes in what a transcript says.
type play struct {
	t     *testing.T
	board *amp.Board
	at    time.Time
	ids   map[string]*amp.Message
	last  map[string]string
	out   strings.Builder
	task  amp.TaskID
}

func newPlay(t *testing.T) *play {
	return &play{
		t: t, board: amp.NewBoard(), at: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), ids: map[string]*amp.Message{},
		last: map[string]string{}, task: "T-2026-001",
	}
}

func (p *play) take(name string, data []byte) {
	p.t.Helper()
	p.at = p.at.Add(time.Second)
	data = []byte(os.Expand(string(data), func(name string) string { return p.last[name] }))
	what, arg, _ := strings.Cut(name, " ")
	switch what {
	case "command":
		var c amp.Command
		p.parse(data, &c)
		c.ID, c.At, c.TaskID = p.id(), p.at, p.task
		p.append(amp.Record{Kind: amp.KindCommand, Role: amp.Admin, Actor: c.By, ID: c.ID, Body: amp.EncodeBody(c)})
		p.say("%s %s", what, c.Command)
	case "plan":
		var plan amp.Plan
		p.parse(data, &plan)
		plan.TaskID, plan.Hash = p.task, plan.ContentHash()
		p.append(amp.Record{Kind: amp.KindPlan, Role: amp.Coordinator, ID: p.id(), Body: amp.EncodeBody(plan)})
		p.say("plan")
	case "check":
		var c amp.Check
		p.parse(data, &c)
		c.TaskID = p.task
		p.append(amp.Record{Kind: amp.KindCheck, Role: amp.Coordinator, ID: p.id(), Body: amp.EncodeBody(c)})
		p.say("check %s", c.Subject)
	case "ack":
		p.ack(amp.Role(arg), data)
	case "raw":
		p.message(name, amp.Role(arg), data)
	default:
		typ := amp.MessageType(what)
		sender := directions[typ][0]
		if as, ok := strings.CutPrefix(arg, "as "); ok {
			sender = amp.Role(as)
		}
		p.message(name, sender, p.wrap(typ, data))
	}
}

// wrap puts a payload into an envelope. An object with a payload member overrides members of the envelope.
func (p *play) wrap(typ amp.MessageType, data []byte) []byte {
	p.t.Helper()
	m := map[string]any{
		"msg_id":           amp.NewMsgID(typ, p.task, p.at, func(id string) bool { return p.ids[id] != nil }),
		"protocol_version": amp.Version, "type": typ, "from": directions[typ][0], "to": directions[typ][1], "task_id": p.task,
		"timestamp": amp.FormatTime(p.at), "requires_ack": typ != amp.EscalationMsg,
	}
	var v map[string]any
	p.parse(data, &v)
	if _, whole := v["payload"]; whole {
		maps.Copy(m, v)
	} else {
		m["payload"] = v
	}
	return marshal(p.t, m)
}

func (p *play) message(name string, sender amp.Role, raw []byte) {
	p.t.Helper()
	m, warnings, err := amp.Decode(raw)
	if err != nil {
		p.refuse(name, sender, raw, problems(p.t, err))
		return
	}
	found, more := p.board.Judge(m, sender, func(id string) bool { return p.ids[id] != nil })
	if len(found) > 0 {
		p.refuse(name, sender, raw, found)
		return
	}
	p.ids[m.MsgID], p.last[string(m.Type)] = m, m.MsgID
	p.append(amp.Record{Kind: amp.KindMessage, Role: m.From, ID: m.MsgID, Body: raw})
	p.say("%s", name)
	p.list("warning: ", append(warnings, more...))
}

func (p *play) ack(sender amp.Role, data []byte) {
	p.t.Helper()
	var a amp.Ack
	p.parse(data, &a)
	a.TaskID, a.By, a.AckedAt = p.task, sender, p.at
	found, warnings := p.board.JudgeAck(&a, p.ids[a.AckFor])
	if len(found) > 0 {
		p.refuse("ack "+string(sender), sender, data, found)
		return
	}
	p.append(amp.Record{Kind: amp.KindAck, Role: sender, ID: p.id(), Body: amp.EncodeBody(a)})
	p.say("ack %s", sender)
	p.list("warning: ", warnings)
}

func (p *play) refuse(what string, sender amp.Role, raw []byte, found []amp.Problem) {
	p.t.Helper()
	before := p.state()
	p.append(amp.Record{Kind: amp.KindRefusal, Role: sender, ID: p.id(), Body: amp.EncodeBody(amp.Refusal{
		What: what, TaskID: p.task,
		Source: "transcript", Problems: found, Raw: raw, RawLen: len(raw),
	})})
	if after := p.state(); before != after {
		p.t.Errorf("%s was refused, and the state went from %s to %s", what, before, after)
	}
	fmt.Fprintf(&p.out, "%s: refused\n", what)
	p.list("", found)
}

func (p *play) append(r amp.Record) {
	p.t.Helper()
	r.TaskID, r.At = p.task, p.at
	if r.Actor == "" {
		r.Actor = string(r.Role)
	}
	if err := p.board.Apply(p.board.Head.Chain(r)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) parse(data []byte, v any) {
	p.t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		p.t.Fatalf("%v in %s", err, data)
	}
}

func (p *play) id() string { return fmt.Sprintf("id-%d", p.board.Head.Seq+1) }

func (p *play) say(format string, args ...any) {
	fmt.Fprintf(&p.out, "%s: %s\n", fmt.Sprintf(format, args...), p.state())
}

// clock are the milliseconds of a msg_id, which say nothing in a transcript.
var clock = regexp.MustCompile(`-T-2026-001-\d{13}`)

func (p *play) list(prefix string, list []amp.Problem) {
	for _, pr := range list {
		fmt.Fprintf(&p.out, "    %s%s %s: %s\n", prefix, pr.Rule, pr.Field, clock.ReplaceAllString(pr.Message, "-…"))
	}
}

// state is the task in one line.
func (p *play) state() string {
	t := p.board.Task(p.task)
	if t == nil {
		return "no task"
	}
	parts := []string{string(t.Status)}
	if t.Next != "" {
		refs := clock.ReplaceAllString(strings.Join(t.ContextRef, " "), "-…")
		parts = append(parts, fmt.Sprintf("%s dispatch due [%s]", t.Next, refs))
	}
	if t.RejectCount > 0 || t.RejectTotal > 0 {
		parts = append(parts, fmt.Sprintf("rejected %d of %d", t.RejectCount, t.RejectTotal))
	}
	if t.Fix != "" {
		parts = append(parts, "at "+t.Commit+", the fixes "+t.Fix+" wait")
	}
	if t.Behind != "" {
		parts = append(parts, fmt.Sprintf("the branch follows to %s, the fixes of %s", t.Commit, clock.ReplaceAllString(t.Behind, "-…")))
	}
	for _, o := range t.Open {
		parts = append(parts, fmt.Sprintf("%s owes the ACK of %s within %d s", o.To, o.Type, o.TimeoutSec))
	}
	if t.Hold != nil {
		parts = append(parts, t.Hold.Why)
	}
	for _, e := range t.OpenEscalations() {
		parts = append(parts, fmt.Sprintf("%s %s open", e.Severity, e.Type))
	}
	if p.board.Stopped != nil {
		parts = append(parts, "everything stands still")
	}
	return strings.Join(parts, "; ")
}
