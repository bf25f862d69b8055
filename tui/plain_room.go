package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
)

// room is where a person is in a conversation: it says what is there and offers what can be done.
type room interface {
	// at is the place of the screens that the room stands for; empty for none.
	at() Place
	// tell says everything once, when the room is entered or asked for again.
	tell(p *plain)
	// choices are what can be done here, those that are off with their reason.
	choices(p *plain) []way
}

// way is one choice. It is bound to what it is about when it is listed.
type way struct {
	text string
	off  string
	do   func() error
}

// onPage is how many choices and lines are said before one is asked whether to go on.
const onPage = 20

// offer lists the choices, unless they are those that were listed last.
func (p *plain) offer(r room) {
	all := r.choices(p)
	on := slices.DeleteFunc(slices.Clone(all), func(w way) bool { return w.off != "" })
	var b strings.Builder
	for _, w := range on {
		b.WriteString(w.text + "\n")
	}
	fmt.Fprintf(&b, "%d %d", len(all)-len(on), p.from)
	if b.String() == p.listed {
		p.offered = on
		return
	}
	p.tellNews()
	p.listed, p.offered = b.String(), on
	p.blank()
	p.from = min(p.from, max(len(on)-1, 0)/onPage*onPage)
	end := min(p.from+onPage, len(on))
	for i := p.from; i < end; i++ {
		p.item(i+1, on[i].text)
	}
	if end < len(on) || p.from > 0 {
		p.say("%d to %d of %d%s.", p.from+1, end, len(on), map[bool]string{true: "; m for more", false: ""}[end < len(on)])
	}
	if n := len(all) - len(on); n > 0 {
		p.say("%s off now; off says why.", capital(counted(n, "more choice")+map[bool]string{true: " is", false: " are"}[n == 1]))
	}
}

// obey does what an answer to the choices of a room means.
func (p *plain) obey(r room, answer string) error {
	word, rest, _ := strings.Cut(answer, " ")
	rest = strings.TrimSpace(rest)
	if n, err := strconv.Atoi(strings.TrimSuffix(answer, ".")); err == nil {
		if n < 1 || n > len(p.offered) {
			p.say("There is no choice %d; help lists the words that are always there.", n)
			return nil
		}
		return p.do(p.offered[n-1].do)
	}
	if strings.HasPrefix(answer, "/") {
		p.enter(&historyRoom{query: strings.TrimSpace(answer[1:])})
		return nil
	}
	switch strings.ToLower(word) {
	case "":
		if !p.hasNews() {
			p.say("Nothing is new.")
		}
	case "quit", "q", "exit", "bye":
		return errLeft
	case "back", "b":
		p.back()
	case "menu", "home", "now":
		p.way, p.stood = p.way[:1], nil
	case "again", "a":
		p.stood = nil
	case "help", "h", "?":
		p.help()
	case "more", "m":
		p.more()
	case "off":
		p.tellOff(r)
	case "news":
		p.news.tellRest(p)
	case "u", "undo":
		return p.do(func() error { return p.act("undo") })
	case "stop", "stop-all":
		return p.do(func() error { return p.act("stop-all") })
	case "thaw":
		return p.do(func() error { return p.act("thaw") })
	case "new", "wish":
		return p.do(func() error { return p.act(wishNew) })
	case "up":
		return p.do(func() error { return p.act("up") })
	case "readonly", "!":
		return p.do(func() error { return p.act("app.readonly") })
	case "show", "open":
		return p.open(rest)
	case "search", "find":
		p.enter(&historyRoom{query: rest})
	default:
		if room := p.named(strings.ToLower(answer)); room != nil {
			p.enter(room)
			return nil
		}
		return p.open(answer)
	}
	return nil
}

// named is the room of a word of the menu, nil for none.
func (p *plain) named(word string) room {
	switch word {
	case "inbox", "3":
		return &needsRoom{inbox: true}
	case "plans":
		return &needsRoom{plans: true}
	case "waiting", "waits":
		return &needsRoom{}
	case "tasks":
		return &tasksRoom{}
	case "agents":
		return &agentsRoom{}
	case "history":
		return &historyRoom{}
	case "errors":
		return &errorsRoom{}
	}
	return nil
}

// do runs a choice; what it opened on the screens is asked or entered here.
func (p *plain) do(f func() error) error {
	if err := f(); err != nil {
		return err
	}
	if err := p.sheets(); err != nil {
		return err
	}
	p.follow()
	p.listed = ""
	return nil
}

// act runs an action of the table that the screens have too.
func (p *plain) act(id string) error {
	if why := p.e.Reg.Why(id); why != "" {
		a, _ := p.e.Reg.Lookup(id)
		p.say("%s is off: %s", capital(actionWords(a.Title)), sentence(spoken(why)))
		return nil
	}
	p.launch(p.m.run(id))
	p.settle()
	return nil
}

// actionWords is the title of an action without what only a key needs.
func actionWords(title string) string { return strings.TrimSuffix(spoken(title), "...") }

// follow enters the room of the place that an action went to.
func (p *plain) follow() {
	at := p.e.nav.top().at
	if at == p.place {
		return
	}
	if r := p.roomAt(at); r != nil {
		p.place = at
		p.enter(r)
	}
}

// roomAt is the room that stands for a place of the screens, nil when there is none.
func (p *plain) roomAt(at Place) room {
	switch at.Kind {
	case KindTask:
		return &taskRoom{id: amp.TaskID(at.ID), seq: at.Seq}
	case KindPlan:
		return &planRoom{id: amp.TaskID(at.ID)}
	case KindEscalation:
		return &cardRoom{id: amp.TaskID(at.ID), seq: at.Seq}
	case KindInbox:
		return &needsRoom{inbox: true}
	case KindPlans:
		return &needsRoom{plans: true}
	case KindTasks:
		return &tasksRoom{}
	case KindAgents:
		return &agentsRoom{}
	case KindErrors:
		return &errorsRoom{}
	case KindHistory:
		return &historyRoom{}
	case KindEntry:
		return &entryRoom{seq: at.Seq}
	case KindFailures:
		return &errorsRoom{}
	default:
		return nil
	}
}

// open goes to a task or an entry by its name.
func (p *plain) open(name string) error {
	at, ok := parsePlace(name)
	switch {
	case ok && at.Kind == "" && at.Seq != 0:
		for _, n := range p.e.Index.Needs {
			if n.Seq == at.Seq {
				p.enter(p.roomAt(n.Place()))
				return nil
			}
		}
		p.enter(&entryRoom{seq: at.Seq})
	case ok && at.Kind == KindTask && p.task(amp.TaskID(at.ID)) == nil:
		p.say("There is no task %s.", at.ID)
	case ok && p.roomAt(at) != nil:
		p.enter(p.roomAt(at))
	default:
		p.say("%s is no choice here; help lists the words that are always there.", quoted(name))
	}
	return nil
}

// more lists the next page of the choices.
func (p *plain) more() {
	if p.from+onPage >= len(p.offered) {
		p.say("There are no more.")
		return
	}
	p.from += onPage
}

// tellOff says what is off in a room, and why.
func (p *plain) tellOff(r room) {
	n := 0
	for _, w := range r.choices(p) {
		if w.off != "" {
			n++
			p.say("%s is off: %s", strings.TrimSuffix(w.text, "."), sentence(spoken(w.off)))
		}
	}
	if n == 0 {
		p.say("Nothing is off here.")
	}
}

// help says the words that are always there.
func (p *plain) help() {
	for _, l := range []string{
		"A number takes the choice of that number, as it was listed last.",
		"An empty line says what is new.",
		"again says everything here once more; back goes one step back; menu goes to the beginning; quit leaves and stops nothing.",
		"waiting, inbox, plans, tasks, agents, history, errors and new go there.",
		"show and a task, as show T-2026-044, or its name alone, opens it; a number sign and a number, as #18140, opens an entry.",
		"A slash and words, as /retry, searches the journal.",
		"m lists more of a long list; off says what can not be done now, and why.",
		"u takes back your last decision while it waits; stop stops everything; thaw lets everything go on; readonly turns decisions off or on.",
		"Nothing is decided before you have typed yes to a question that says what will happen. Control c cancels the question, twice leaves.",
	} {
		p.say("%s", l)
	}
	if p.e.Version != "" {
		p.say("This is arbiter %s.", p.e.Version)
	}
}
