package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
)

// news is what happened since the last question, until it is said.
type news struct {
	told    map[amp.TaskID]amp.Status // as it was said, or was at the start
	known   map[string]bool           // needs
	decided map[string]amp.Command    // commands that were seen, by id
	tasks   []amp.TaskID              // that have moved, in order
	moved   map[amp.TaskID]bool
	facts   []string // sentences of their own
	rest    []string // what was too much to say at once
}

func newNews() news {
	return news{told: map[amp.TaskID]amp.Status{}, known: map[string]bool{}, decided: map[string]amp.Command{}, moved: map[amp.TaskID]bool{}}
}

// synced takes a whole board: what it holds is no news at the start.
func (n *news) synced(p *plain, why string) {
	for _, id := range p.e.Board.Order {
		if _, known := n.told[id]; known {
			n.touch(id)
			continue
		}
		n.told[id] = p.e.Board.Task(id).Status
	}
	if why != "" {
		n.facts = append(n.facts, sentence("the board was read anew: "+why))
	}
	if len(n.known) == 0 {
		for i := range p.e.Index.Needs {
			n.known[p.e.Index.Needs[i].ID] = true
		}
	}
}

func (n *news) touch(id amp.TaskID) {
	if !n.moved[id] {
		n.moved[id] = true
		n.tasks = append(n.tasks, id)
	}
}

// add takes new entries; those up to head were known.
func (n *news) add(p *plain, entries []amp.Entry, head uint64) {
	for i := range entries {
		en := &entries[i]
		if en.Seq <= head || en.Seq > p.e.Board.Head.Seq {
			continue
		}
		if en.TaskID != "" {
			n.touch(en.TaskID)
		}
		switch en.Kind {
		case amp.KindCommand:
			n.command(p, en)
		case amp.KindCheck:
			n.check(en)
		case amp.KindRefusal:
			n.facts = append(n.facts, sentence("new error: "+p.entryWords(en)))
		default:
		}
	}
}

// command says what somebody else decided; one's own decisions are answered where they were made.
func (n *news) command(p *plain, en *amp.Entry) {
	c, err := amp.DecodeBody[amp.Command](en)
	if err != nil {
		return
	}
	n.decided[c.ID] = c
	if c.By == p.e.Admin {
		return
	}
	what := strings.ReplaceAll(string(c.Command), "_", " ")
	about := ""
	if c.TaskID != "" {
		about = " about " + string(c.TaskID)
	}
	text := fmt.Sprintf("%s decided%s: %s, entry %s", cmp.Or(c.By, "somebody"), about, what, seqName(en.Seq))
	if c.Note != "" {
		text += ", with the words " + quoted(c.Note)
	}
	n.facts = append(n.facts, sentence(text))
}

// check says what became of a decision whose undo time is over.
func (n *news) check(en *amp.Entry) {
	k, err := amp.DecodeBody[amp.Check](en)
	if err != nil || k.Subject != amp.CheckCommand {
		return
	}
	c, known := n.decided[k.For]
	if !known {
		return
	}
	delete(n.decided, k.For)
	if _, refuted, _ := k.Count(); refuted == 0 {
		n.facts = append(n.facts, sentence(fmt.Sprintf("the %s of %s is carried out", strings.ReplaceAll(string(c.Command), "_", " "), en.TaskID)))
	}
}

// connection says that the coordinator went away; that it is back is said by the model.
func (n *news) connection(p *plain, c connState) {
	if was := p.e.Conn; c.phase != live && (was.phase == live || was.phase == connecting) && p.m.synced {
		n.facts = append(n.facts, sentence(fmt.Sprintf("the connection to the coordinator is lost: %v", c.err)),
			"What you read stays as it was, decisions are off, and I try again by myself.")
	}
}

// atOnce is how many news are said before the rest waits to be asked for.
const atOnce = 8

// hasNews reports whether there is something to say.
func (p *plain) hasNews() bool {
	p.collect()
	return len(p.said)+len(p.news.facts)+len(p.news.tasks) > 0
}

// collect takes over what the model would show for some seconds.
func (p *plain) collect() {
	for _, t := range p.e.toasts.Take() {
		p.said = append(p.said, sentence(spoken(strings.ReplaceAll(t.Text, " · ", ". "))))
	}
}

// tellNews says what happened since it was called last.
func (p *plain) tellNews() {
	p.collect()
	n := &p.news
	all := append(p.said, n.facts...)
	p.said, n.facts = nil, nil
	var needs []string
	for _, id := range n.tasks {
		t := p.task(id)
		if t == nil {
			continue
		}
		if slices.ContainsFunc(p.e.Index.Needs, func(need need) bool { return need.TaskID == id && !n.known[need.ID] }) {
			n.told[id] = t.Status // what waits for a person says it too
			continue
		}
		if was, known := n.told[id]; !known || was != t.Status {
			n.told[id] = t.Status
			all = append(all, p.taskWords(t))
		}
	}
	n.tasks = nil
	clear(n.moved)
	now := make(map[string]bool, len(p.e.Index.Needs))
	for i := range p.e.Index.Needs {
		need := &p.e.Index.Needs[i]
		now[need.ID] = true
		if !n.known[need.ID] {
			needs = append(needs, "New for you: "+p.needWords(need))
		}
	}
	n.known = now
	all = append(needs, all...)
	if len(all) > atOnce {
		n.rest = append(n.rest, all[atOnce:]...)
		const kept = 200
		n.rest = n.rest[max(len(n.rest)-kept, 0):]
		all = append(all[:atOnce:atOnce], capital(counted(len(n.rest), "more change"))+"; news says them.")
	}
	for _, s := range all {
		p.say("%s", s)
	}
}

// tellRest says what was too much at once.
func (n *news) tellRest(p *plain) {
	if len(n.rest) == 0 {
		p.say("Nothing is new.")
		return
	}
	page := n.rest[:min(len(n.rest), onPage)]
	n.rest = n.rest[len(page):]
	for _, s := range page {
		p.say("%s", s)
	}
	if len(n.rest) > 0 {
		p.say("%s; news says them.", capital(counted(len(n.rest), "more change")))
	}
}
