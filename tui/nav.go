package tui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
)

// Kind is the kind of a page and the name of its action scope.
type Kind string

// The kinds of pages.
const (
	KindNow         Kind = "now"
	KindTasks       Kind = "tasks"
	KindTask        Kind = "task"
	KindInbox       Kind = "inbox"
	KindEscalation  Kind = "escalation"
	KindPlans       Kind = "plans"
	KindPlan        Kind = "plan"
	KindHistory     Kind = "history"
	KindAgents      Kind = "agents"
	KindErrors      Kind = "errors"
	KindEntry       Kind = "entry"
	KindText        Kind = "text"
	KindTurn        Kind = "turn"
	KindFailures    Kind = "failures"
	KindEscalations Kind = "escalations"
	KindDiff        Kind = "diff"
	KindLetters     Kind = "letters"
)

// Place is where a person can be: a kind of page and what it is about. Every place can be opened by its id.
type Place struct {
	Kind Kind
	// ID is a task id where the kind is about one thing. The diff of a task's last round is "T-2026-044:last".
	ID string
	// Seq is the entry to stand on, 0 for none. Of an escalation, question or held task it is its name in the Inbox.
	Seq uint64
}

// pageKind is one line of the table of pages.
type pageKind struct {
	Kind Kind
	// Tab is the key of its tab in the header, "" for pages that are reached from others; Title and Short name it.
	Tab, Title, Short string
	// Badge is shown behind the title of the tab, "" for nothing; nil never. Count goes with the long title alone.
	Badge func(e *env) string
	Count func(e *env) string
	// Dense pages get a second row of keys instead of the row of the last entry on a low screen.
	Dense bool
	// Make returns a new page.
	Make func(e *env, at Place) page
	// Deeds are the actions of the page; their scopes should be its Kind or begin with it. nil for none.
	Deeds func(e *env) []deed
}

// deed is an action with what it runs. Without Run the page on the screen gets an [intent] with its id.
type deed struct {
	action.Action
	Run func() tea.Cmd
}

// kinds is the table of pages, in the order of the tabs.
func kinds() []pageKind {
	return []pageKind{
		nowKind(),
		tasksKind(),
		taskKind(),
		inboxKind(),
		escalationKind(),
		plansKind(),
		planKind(),
		historyKind(),
		agentKind(),
		refusalKind(),
		failureKind(),
		entryKind(),
		escalationsKind(),
		textKind(),
		diffKind(),
		turnKind(),
		lettersKind(),
	}
}

// deedSets are the actions that belong to no page alone, registered after those of the pages.
func deedSets() []func(e *env) []deed {
	return []func(e *env) []deed{
		decisionDeeds,
		wishDeeds,
		appDeeds,
	}
}

// parsePlace reads what --open and the palette take: "inbox", "T-2026-044", "#18140", "T-2026-044#18140".
func parsePlace(s string) (Place, bool) {
	s = strings.TrimSpace(s)
	id, entry, hasEntry := strings.Cut(s, "#")
	var at Place
	if hasEntry {
		seq, err := strconv.ParseUint(entry, 10, 64)
		if err != nil || seq == 0 {
			return Place{}, false
		}
		at.Seq = seq
	}
	switch {
	case amp.TaskID(id).Valid():
		at.Kind, at.ID = KindTask, id
		return at, true
	case id == "" && hasEntry:
		return at, true
	case hasEntry:
		return Place{}, false
	}
	for _, k := range kinds() {
		if k.Tab != "" && (strings.EqualFold(string(k.Kind), id) || strings.EqualFold(k.Title, id)) {
			return Place{Kind: k.Kind}, true
		}
	}
	return Place{}, false
}

// stop is one step of the way a person came.
type stop struct {
	at   Place
	page page
}

// nav is the way: the last stop is on the screen.
type nav struct {
	kinds []pageKind
	way   []stop
	// tabs keeps the pages of the tabs, so that going there again finds them as they were left.
	tabs map[Kind]page
}

func newNav() *nav { return &nav{kinds: kinds(), tabs: map[Kind]page{}} }

func (n *nav) kind(k Kind) (pageKind, bool) {
	for _, pk := range n.kinds {
		if pk.Kind == k {
			return pk, true
		}
	}
	return pageKind{}, false
}

func (n *nav) top() stop {
	if len(n.way) == 0 {
		return stop{}
	}
	return n.way[len(n.way)-1]
}

// tab is the kind of the tab that the way began at.
func (n *nav) tab() Kind {
	for i := len(n.way) - 1; i >= 0; i-- {
		if k, ok := n.kind(n.way[i].at.Kind); ok && k.Tab != "" {
			return k.Kind
		}
	}
	return ""
}

// maxWay bounds how far back esc leads.
const maxWay = 32

// goTo puts a place on top of the way. A tab begins a new way; the place on the screen is not opened twice.
func (n *nav) goTo(e *env, at Place) bool {
	k, ok := n.kind(at.Kind)
	if !ok {
		return false
	}
	if t := n.top(); t.page != nil && t.at == at {
		return true
	}
	if k.Tab != "" {
		n.leaveAll(e)
		p := n.tabs[k.Kind]
		if p == nil {
			p = k.Make(e, at)
			n.tabs[k.Kind] = p
		}
		n.way = append(n.way[:0], stop{at, p})
		return true
	}
	n.way = append(n.way, stop{at, k.Make(e, at)})
	if len(n.way) > maxWay {
		n.leave(e, n.way[1])
		n.way = append(n.way[:1], n.way[2:]...)
	}
	return true
}

// moved says that the page on the screen shows another place now.
func (n *nav) moved(p page, at Place) {
	if top := len(n.way) - 1; top >= 0 && n.way[top].page == p {
		n.way[top].at = at
	}
}

// back takes the last step of the way back; false on its first stop.
func (n *nav) back(e *env) bool {
	if len(n.way) < 2 {
		return false
	}
	n.leave(e, n.top())
	n.way = n.way[:len(n.way)-1]
	return true
}

func (n *nav) leaveAll(e *env) {
	for _, s := range n.way {
		n.leave(e, s)
	}
}

// anew makes every page again, with what they keep.
func (n *nav) anew(e *env) tea.Cmd {
	way := n.way
	for _, p := range n.pages() {
		e.retain(p)
		if c, ok := p.(closer); ok {
			c.Close()
		}
	}
	n.way, n.tabs = nil, map[Kind]page{}
	var cmds []tea.Cmd
	for _, s := range way {
		cmds = append(cmds, e.Go(s.at))
	}
	return tea.Batch(cmds...)
}

func (n *nav) leave(e *env, s stop) {
	if n.tabs[s.at.Kind] == s.page {
		return // kept
	}
	e.retain(s.page)
	if c, ok := s.page.(closer); ok {
		c.Close()
	}
}

// pages are all pages that live, the one on the screen first.
func (n *nav) pages() []page {
	var out []page
	for i := len(n.way) - 1; i >= 0; i-- {
		out = append(out, n.way[i].page)
	}
	for _, p := range n.tabs {
		if len(n.way) == 0 || n.way[0].page != p {
			out = append(out, p)
		}
	}
	return out
}
