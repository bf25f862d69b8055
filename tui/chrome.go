package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The smallest screen that pages are drawn in.
const (
	minWidth  = 50
	minHeight = 10
)

func (m *model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }

// chromeCache keeps the parts of the frame that change seldom.
type chromeCache struct {
	headerKey      headerKey
	header         string
	head           string // of the journal, for headSeq
	headSeq        uint64
	headText       string
	headStyled     string
	hints          []ui.KeyHint
	keysW, keysH   int
	keyRows        int
	keysText       string
	counted        []string // the rows as they were counted, with countedText at their end
	countedText    string
	keys           *ui.Block // the rows of hints, drawn for what stands above
	lastSeq        uint64
	lastDay, lastW int
	last           string
}

// headerKey is what the header depends on.
type headerKey struct {
	w                   int
	tab                 Kind
	right, detail       string
	ro                  bool
	inbox, plans, tasks int
	refusals            int
}

// render draws the whole frame.
func (m *model) render() string {
	e := m.env
	e.Reg.ReadOnly(e.Off())
	if m.w <= 0 || m.h <= 0 {
		return ""
	}
	f := ui.NewFrame(e.Theme, m.w, m.h)
	if m.tooSmall() {
		m.renderSmall(f)
		return m.painter.Paint(f)
	}
	top := m.nav.top()
	status := m.status()
	// What is offered follows what is drawn, where the cursor may turn out to stand elsewhere: the keys are asked for after the page,
	// which gets the rows that they needed last, and is drawn again when they need others.
	keyRows := m.chrome.keyRows
	body, sheetRows, page := m.renderPage(status.Height() + keyRows)
	hints := m.hints(m.keyHeight())
	if n := m.countKeyRows(hints); n != keyRows {
		body, sheetRows, page = m.renderPage(status.Height() + n)
	}
	f.Put(1, page)
	if sheetRows > 0 {
		f.Put(1+body-sheetRows, e.sheet.Render(m.w, sheetRows))
	}
	if d, ok := top.page.(divided); ok && sheetRows == 0 && m.hasRule() {
		status = m.closeRule(status, d.Divide())
	}
	f.Put(1+body, status)
	// header and keys come last: they show the seconds only when something else counts down
	f.Put(0, ui.NewBlock(e.Theme, m.w).Add(m.headerRow()))
	f.Put(1+body+status.Height(), m.drawKeyRows(hints))
	e.toasts.Draw(f, 1+body-sheetRows) // never over the buttons of a sheet
	if m.overlay != nil {
		ow, oh := m.overlay.Size(m.w, m.h)
		f.Center(m.overlay.Render(e.Theme, min(max(ow, 20), m.w), min(max(oh, 4), m.h)))
	}
	return m.painter.Paint(f)
}

// renderPage draws the page in the rows that the header and taken other rows leave, less those of a sheet.
func (m *model) renderPage(taken int) (body, sheetRows int, page *ui.Block) {
	e := m.env
	body = max(m.h-1-taken, 0)
	if e.sheet != nil {
		sheetRows = min(e.sheet.Height(m.w), max(body-m.pageRows(body), 0))
	}
	m.zones.bodyTop, m.zones.bodyRows = 1, body-sheetRows
	return body, sheetRows, m.nav.top().page.Render(m.w, body-sheetRows)
}

// pageRows is how much of the body a sheet leaves to the page.
func (m *model) pageRows(body int) int { return min(6, body/3) }

// renderSmall says what size is needed and what still works.
func (m *model) renderSmall(f *ui.Frame) {
	e := m.env
	b := ui.NewBlock(e.Theme, m.w)
	b.Add("needs " + strconv.Itoa(minWidth) + "x" + strconv.Itoa(minHeight))
	if n := e.Index.Inbox + e.Index.Plans; n > 0 {
		b.Add(e.Theme.S(theme.Time, needYou(n)))
	}
	b.Add("q quit")
	f.Put(0, b)
}

// headerRow is the place, the counts and the connection.
func (m *model) headerRow() string {
	e := m.env
	right := m.connection()
	detail := " · " + m.clock()
	key := headerKey{m.w, m.nav.tab(), right, detail, e.ReadOnly, e.Index.Inbox, e.Index.Plans, len(e.Board.Tasks), e.newRefusals()}
	if key == m.chrome.headerKey && m.chrome.header != "" {
		return m.chrome.header
	}
	mode := cmp.Or(ui.Safe(e.Place), "local")
	if e.ReadOnly {
		mode += " · ro"
	} else {
		mode += " · rw"
	}
	h := ui.Header{Name: "ARBITER", Facts: mode, Right: right, Detail: detail, Zones: &m.zones.tabs}
	if e.ReadOnly {
		h.Right = e.Theme.S(theme.Time, "ro") + " " + right
	}
	active := m.nav.tab()
	for _, k := range m.nav.kinds {
		if k.Tab == "" {
			continue
		}
		t := ui.Tab{Key: k.Tab, Title: k.Title, Short: k.Short, Active: k.Kind == active}
		if k.Badge != nil {
			t.Badge = k.Badge(e)
		}
		if k.Count != nil {
			if c := k.Count(e); c != "" {
				t.Short, t.Title = k.Title, k.Title+" "+c
			}
		}
		h.Tabs = append(h.Tabs, t)
	}
	m.chrome.headerKey, m.chrome.header = key, h.Row(e.Theme, m.w)
	return m.chrome.header
}

// connection is the right end of the header.
func (m *model) connection() string {
	e, sg := m.env, m.env.Theme.Signs
	c := e.Conn
	switch {
	case c.phase == connecting:
		return e.Theme.S(theme.Muted, sg.Retry+" connecting")
	case c.phase == retrying:
		e.Tick()
		left := max(c.next.Sub(e.Now), 0).Round(time.Second)
		return e.Theme.S(theme.Time, fmt.Sprintf("%s retry %d s", sg.Retry, int(left.Seconds())))
	case c.phase == offline:
		return e.Theme.S(theme.Danger, sg.No+" offline since "+c.since.In(e.Zone).Format("15:04"))
	case e.Board.Stopped != nil:
		return e.Theme.S(theme.Danger, sg.Status("locked")+" stopped")
	}
	return e.Theme.S(theme.Good, sg.Live+" live")
}

// clock is the time of day: with seconds while something counts down, so that it never stands still unnoticed.
func (m *model) clock() string {
	now := m.env.Now.In(m.env.Zone)
	if !m.env.wake.IsZero() && m.env.wake.Sub(m.env.Now) <= time.Second {
		return now.Format("15:04:05")
	}
	m.env.WakeAt(m.env.Now.Truncate(time.Minute).Add(time.Minute))
	return now.Format("15:04")
}

// hasRule reports whether the screen is high enough for the line above the footer.
func (m *model) hasRule() bool {
	if m.h < 20 {
		return false
	}
	k, _ := m.nav.kind(m.nav.top().at.Kind)
	return m.h >= 30 || !k.Dense
}

// keyHeight is how many rows the keys have.
func (m *model) keyHeight() int {
	k, _ := m.nav.kind(m.nav.top().at.Kind)
	if m.h >= 30 || k.Dense && m.h >= 20 {
		return 2
	}
	return 1
}

// status is what stands between the page and the keys: a rule, a hint of the demo, the last entry, the command that waits or
// is on its way.
func (m *model) status() *ui.Block {
	e := m.env
	b := ui.NewBlock(e.Theme, m.w)
	if m.hasRule() {
		b.Rule("", "")
	}
	if e.Hint != nil {
		if hint := e.Hint(e.Board); hint != "" {
			b.Add(" " + e.Theme.S(theme.Accent, e.Theme.Signs.Arrow+" "+ui.Safe(hint)))
		}
	}
	waits, request := m.waitingRow(), m.requestRow()
	if request == "" {
		request = m.bannerRow()
	}
	switch {
	case m.hasRule() && request != "": // in the place of the last entry, so that nothing jumps
		b.Add(request)
	case m.hasRule() && (m.h < 30 || waits == ""):
		b.Add(m.lastRow())
	case request != "":
		b.Add(request)
	}
	if waits != "" {
		b.Add(waits)
	}
	return b
}

// lastRow is the newest entry of the journal.
func (m *model) lastRow() string {
	e := m.env
	if s := e.Board.Stopped; s != nil {
		why := s.Why
		if why == "" {
			why = "no reason given"
		}
		return " " + e.Theme.S(theme.Danger, e.Clock(s.At)+" everything was stopped by "+ui.Safe(s.By)+": "+ui.Safe(why))
	}
	if len(e.Recent) == 0 {
		return " " + e.Theme.S(theme.Muted, "the journal is empty")
	}
	entry := &e.Recent[len(e.Recent)-1]
	c := &m.chrome
	day := e.Now.In(e.Zone).YearDay()
	if c.last != "" && c.lastSeq == entry.Seq && c.lastDay == day && c.lastW == m.w {
		return c.last
	}
	l := describe(entry)
	c.lastSeq, c.lastDay, c.lastW = entry.Seq, day, m.w
	c.last = " " + e.Theme.S(theme.Muted, e.Clock(entry.At)) + " " + string(entry.TaskID) + " " + e.styledSign(l) + " " +
		ui.Safe(l.What) + " " + e.Theme.S(theme.Muted, ui.Safe(l.who())) + " " + e.lineText(l)
	return c.last
}

// waitingRow is the command that runs next, with its countdown.
func (m *model) waitingRow() string {
	e := m.env
	w, mine := e.soonest()
	if w == nil {
		return ""
	}
	e.Tick()
	left := w.Due.Sub(e.Now)
	name := string(w.Command.Command) + " " + string(w.Command.TaskID)
	if t := e.Board.Task(w.Command.TaskID); t != nil && t.Plan != nil && (w.Command.Command == amp.Approve || w.Command.Command == amp.Reject) {
		name += " r" + strconv.Itoa(t.Plan.Revision)
	}
	text := name + " is being carried out"
	if left > 0 {
		text = fmt.Sprintf("%s runs in %d s", name, int((left+time.Second-1)/time.Second))
	}
	if mine {
		if left > 0 {
			text += " · u takes it back"
		}
	} else {
		text += " · by " + ui.Safe(w.Command.By)
	}
	if n := len(e.Index.Waiting); n > 1 {
		text += fmt.Sprintf(" · %d more wait", n-1)
	}
	total := w.Due.Sub(w.At)
	share := 0.0
	if total > 0 {
		share = min(max(float64(left)/float64(total), 0), 1)
	}
	return ui.Spread(" "+e.Theme.S(theme.Time, text), ui.Gauge(e.Theme, 10, share)+" ", m.w)
}

// countKeyRows is how many rows the hints need; the end of the last row has the same width whatever the time is.
func (m *model) countKeyRows(hints []ui.KeyHint) int {
	c := &m.chrome
	if c.keysW != m.w || c.keysH != m.h || !slices.Equal(c.hints, hints) {
		c.keysW, c.keysH, c.hints, c.keys = m.w, m.h, slices.Clone(hints), nil
		c.countedText = m.headText()
		c.counted = ui.KeyRows(m.env.Theme, m.w, m.keyHeight(), hints, c.countedText)
		c.keyRows = len(c.counted)
	}
	return c.keyRows
}

// drawKeyRows draws the hints and the end of the last row.
func (m *model) drawKeyRows(hints []ui.KeyHint) *ui.Block {
	c := &m.chrome
	if text := m.headText(); c.keys == nil || text != c.keysText {
		rows := c.counted
		if text != c.countedText {
			rows = ui.KeyRows(m.env.Theme, m.w, c.keyRows, hints, text)
		}
		c.keysText = text
		c.keys = ui.NewBlock(m.env.Theme, m.w).Add(rows...)
	}
	return c.keys
}

// headText is the end of the last row: the journal's head, and who one is or what time it is. Its width does not change.
func (m *model) headText() string {
	e := m.env
	c := &m.chrome
	if c.head == "" || c.headSeq != e.Board.Head.Seq {
		c.headSeq, c.head = e.Board.Head.Seq, fmt.Sprintf("#%d %x", e.Board.Head.Seq, e.Board.Head.Hash[:4])
	}
	text := c.head
	if m.w >= 120 {
		you := ""
		if e.Admin != "" {
			you = " · you: "
		}
		text = "head " + text + you + ui.Safe(e.Admin)
	} else if m.w >= 72 {
		text += "  " + ui.PadLeft(m.clock(), len("15:04:05"))
	}
	if c.headText != text || c.headStyled == "" {
		c.headText, c.headStyled = text, e.Theme.S(theme.Muted, text)
	}
	return c.headStyled
}

// closeRule puts a tee where the line between two panes meets the rule of the footer.
func (m *model) closeRule(status *ui.Block, at int) *ui.Block {
	if at <= 0 {
		return status
	}
	return ui.NewBlock(m.env.Theme, m.w).RuleUp(at).Add(status.Rows()[1:]...)
}
