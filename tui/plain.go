package tui

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/term"
	"arbiter/tui/theme"
	"arbiter/tui/ui/bar"
)

// RunPlain is the interface without a screen: sentences and numbered choices on any reader and writer, for screen readers, terminals
// that can not move a cursor, and pipes. It writes text and newlines, nothing else. What can be decided, what a decision will do and
// what it demands are those of the screens. It returns nil when the person leaves, when the input ends, and after a signal that ends
// the program; like [Run] it stops nothing but itself.
//
// A line that was typed before its question was asked never confirms anything: on a terminal such input is thrown away, and an answer
// that comes faster than a person can read is asked for again. Of a pipe every line is the answer to one question, so there a
// confirmation names what it confirms: "yes T-2026-044".
func RunPlain(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	kind := term.Detect(os.Getenv)
	signs := theme.UTF8
	if cfg.Signs == "ascii" || !kind.UTF8 && cfg.Signs != "utf8" {
		signs = theme.ASCII
	}
	interrupt, leave := make(chan os.Signal, 4), make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	signal.Notify(leave, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(interrupt)
	defer signal.Stop(leave)
	lines := term.NewLines(in)
	p := newPlain(ctx, cfg, plainParts{
		parts: parts{now: time.Now, newID: newID, zone: time.Local, left: leftByEditors(cfg)}, out: out, lines: lines, terminal: lines.Terminal(), signs: signs,
		width: columns(os.Getenv), interrupt: interrupt, leave: leave,
	})
	return p.run()
}

// columns is how wide sentences may be.
func columns(env func(string) string) int {
	if n, err := strconv.Atoi(env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}

// plainParts are what a conversation needs besides its configuration; tests choose them.
type plainParts struct {
	parts
	out              io.Writer
	lines            *term.Lines
	terminal         bool
	signs            *theme.Signs
	width            int
	interrupt, leave <-chan os.Signal
}

// plain is a conversation: it drives the model of the screens by lines instead of keys, and says instead of drawing. Everything runs
// in one goroutine but for reading lines, the pump and commands of the model.
type plain struct {
	m      *model
	e      *env
	ctx    context.Context
	cancel context.CancelFunc
	voice
	lines            *term.Lines
	terminal         bool
	interrupt, leave <-chan os.Signal
	interrupted      bool         // the last question was left by an interrupt
	done             chan tea.Msg // results of commands
	flying           int          // commands whose result is not there yet
	due              uint64       // the entry of one's own that the board must hold before anything else is said
	wg               sync.WaitGroup

	way   []room
	stood room  // the room that was told last
	place Place // where the model stands for it
	// offered are the choices as they were listed last: a number means what was read, whatever came since.
	offered []way
	listed  string
	from    int      // first choice of the page that is listed
	said    []string // what the model has to say, until it is said
	news    news
	over    bool
}

// The ways in which a question is left without an answer.
var (
	errCancelled = errors.New("cancelled")
	errLeft      = errors.New("left")
)

func newPlain(ctx context.Context, cfg Config, with plainParts) *plain {
	ctx, cancel := context.WithCancel(ctx)
	cfg.Mouse, cfg.Hint = false, nil
	with.theme = theme.Default()
	p := &plain{
		m: newModel(ctx, cfg, with.parts), ctx: ctx, cancel: cancel, done: make(chan tea.Msg),
		voice: voice{w: with.out, width: with.width, signs: with.signs},
		lines: with.lines, terminal: with.terminal, interrupt: with.interrupt, leave: with.leave,
	}
	p.e = p.m.env
	p.e.desk.edit = p.edit
	p.news = newNews()
	return p
}

// run talks until the person leaves.
func (p *plain) run() error {
	p.wg.Go(func() { p.m.pump.run(p.ctx) })
	var reading sync.WaitGroup
	reading.Go(p.lines.Run)
	err := p.converse()
	p.voice.end()
	p.cancel()
	p.wg.Wait()
	p.lines.Close() // a read that has begun ends with the input
	switch {
	case p.voice.err != nil:
		return p.voice.err
	case errors.Is(err, errLeft):
		return p.m.untaken()
	}
	return err
}

// converse greets and answers until the person leaves.
func (p *plain) converse() error {
	if err := p.connect(); err != nil {
		return err
	}
	p.greet()
	p.enter(&menuRoom{})
	p.openFirst()
	for {
		if err := p.turn(); err != nil {
			if errors.Is(err, errCancelled) {
				continue
			}
			return err
		}
	}
}

// connect waits until the board is there, and says what is in the way.
func (p *plain) connect() error {
	told := false
	for !p.m.synced {
		select {
		case msg := <-p.m.pump.out:
			p.take(msg)
		case msg := <-p.done:
			p.flying--
			p.take(msg)
		case <-p.interrupt:
			return errLeft
		case <-p.leave:
			return errLeft
		case <-p.ctx.Done():
			return errLeft
		}
		if c := p.e.Conn; !told && c.err != nil {
			told = true
			p.say("The coordinator does not answer: %s. I try again until it does; control c leaves.", c.err)
		}
	}
	for p.e.Conn.phase == connecting { // follows the board at once
		p.take(<-p.m.pump.out)
	}
	p.settle()
	return nil
}

func (p *plain) openFirst() {
	if p.e.Config.Open == "" {
		return
	}
	if r := p.roomAt(p.e.nav.top().at); r != nil {
		p.enter(r)
	}
}

// turn is one question and its answer.
func (p *plain) turn() error {
	r := p.way[len(p.way)-1]
	if p.stood != r {
		p.stand(r)
	}
	p.offer(r)
	answer, err := p.ask("Your choice:")
	if err != nil {
		return err
	}
	return p.obey(r, answer)
}

// stand goes to a room and tells what is there.
func (p *plain) stand(r room) {
	p.stood, p.listed, p.from = r, "", 0
	if at := r.at(); at.Kind != "" && p.e.nav.top().at != at {
		p.launch(p.e.Go(Place{Kind: KindNow}))
		if at.Kind != KindNow {
			p.launch(p.e.Go(at))
		}
		p.settle()
	}
	p.place = p.e.nav.top().at
	p.tellNews()
	p.blank()
	r.tell(p)
}

// enter puts a room on top of the way.
func (p *plain) enter(r room) {
	const longest = 32
	if len(p.way) == longest {
		p.way = append(p.way[:1], p.way[2:]...)
	}
	p.way = append(p.way, r)
}

// back leaves the room on top; the first one stays.
func (p *plain) back() {
	if len(p.way) > 1 {
		p.way = p.way[:len(p.way)-1]
	}
	p.stood = nil
}

// ask asks and waits for one line. News are said before, never while somebody types.
func (p *plain) ask(question string) (string, error) {
	a, err := p.askRaw(question)
	return strings.TrimSpace(a.Text), err
}

// askRaw is [plain.ask] with what was wrong about the line.
func (p *plain) askRaw(question string) (term.Answered, error) {
	p.settle()
	if p.over {
		return term.Answered{}, errLeft
	}
	p.tellNews()
	p.prompt(question)
	p.lines.Ask()
	for {
		select {
		case a := <-p.lines.Got():
			p.lines.Took()
			p.interrupted = false
			if p.terminal && a.Err == nil {
				p.answered() // the terminal has ended the line
			}
			p.voice.end()
			p.catchUp()
			if a.Err != nil {
				return a, errLeft // whatever ended the input: nothing is decided without an answer
			}
			return a, nil
		case msg := <-p.m.pump.out:
			p.take(msg)
		case msg := <-p.done:
			p.flying--
			p.take(msg)
		case <-p.interrupt:
			p.voice.end()
			if p.interrupted {
				return term.Answered{}, errLeft
			}
			p.interrupted = true
			p.e.CloseSheet()
			p.say("Cancelled: nothing was decided. Control c once more leaves.")
			p.listed = ""
			return term.Answered{}, errCancelled
		case <-p.leave:
			return term.Answered{}, errLeft
		case <-p.ctx.Done():
			return term.Answered{}, errLeft
		}
		if p.over {
			return term.Answered{}, errLeft
		}
	}
}

// sure asks for the word that lets something happen; true means that it was given to this very question. Everything else is no.
func (p *plain) sure(verb, word string) (bool, error) {
	want := "yes"
	if !p.terminal { // lines of a pipe may have been written for another question
		want += " " + word
	}
	for {
		p.settle()
		p.tellNews()
		p.lines.Discard()
		asked := p.e.now()
		a, err := p.askRaw("Type " + want + " to " + verb + ", or anything else to cancel:")
		if err != nil {
			return false, err
		}
		said := strings.Join(strings.Fields(a.Text), " ")
		switch early := p.terminal && p.e.now().Sub(asked) < bar.ArmDelay; {
		case early:
			p.say("That came before the question could be read, so it counts for nothing.")
			continue
		case a.Raw:
			p.say("That line held keys that are no text, so it counts as no.")
			return false, nil
		case strings.EqualFold(said, want):
			return true, nil
		case strings.EqualFold(said, "yes"):
			p.say("The input is no terminal: yes alone may be meant for another question. Nothing was done.")
		}
		return false, nil
	}
}

// settle waits for the commands that are on their way, as long as a person would.
func (p *plain) settle() {
	p.catchUp()
	if !p.pending() {
		return
	}
	patience := time.NewTimer(pastPatience)
	defer patience.Stop()
	for p.pending() && !p.over {
		select {
		case msg := <-p.m.pump.out:
			p.take(msg)
		case msg := <-p.done:
			p.flying--
			p.take(msg)
		case <-p.interrupt:
			if p.e.desk.opened != nil { // the key was for the editor
				continue
			}
			if p.e.busy != nil {
				p.e.busy.cancel()
				continue
			}
			return
		case <-patience.C:
			if p.e.desk.opened != nil {
				patience.Reset(pastPatience)
				continue
			}
			p.due = 0
			if p.e.busy == nil {
				return
			}
			p.say("The coordinator has not answered yet. I wait; control c stops waiting.")
			patience.Reset(maxBackoff)
		case <-p.leave:
			p.over = true
		case <-p.ctx.Done():
			p.over = true
		}
	}
}

// pending reports whether an answer is still to come, or the entry that it named.
func (p *plain) pending() bool {
	return p.flying > 0 || p.due > p.e.Board.Head.Seq && p.e.Conn.phase == live
}

// catchUp takes what has come already.
func (p *plain) catchUp() {
	for {
		select {
		case msg := <-p.m.pump.out:
			p.take(msg)
		case msg := <-p.done:
			p.flying--
			p.take(msg)
		default:
			p.e.Now = p.e.now()
			return
		}
	}
}

// launch runs a command of the model beside the conversation.
func (p *plain) launch(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	p.flying++
	p.wg.Go(func() {
		msg := cmd()
		select {
		case p.done <- msg:
		case <-p.ctx.Done():
		}
	})
}

// take hands a message to the model, as its program would, and keeps what is to be said of it.
func (p *plain) take(msg tea.Msg) {
	e := p.e
	e.Now = e.now()
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			p.launch(c)
		}
	case tea.QuitMsg:
		p.over = true
	case syncedMsg:
		p.launch(p.m.synchronise(msg))
		p.news.synced(p, msg.why)
	case batchMsg:
		head := e.Board.Head.Seq
		p.launch(p.m.fold(msg))
		p.news.add(p, msg.entries, head)
	case connMsg:
		p.news.connection(p, connState(msg))
		p.m.connected(connState(msg))
	case pagedMsg:
		msg.take()
	case pastMsg:
		e.desk.took(msg)
	case endedMsg:
		if s, ok := msg.msg.(submittedMsg); ok && s.err == nil {
			p.due = s.entry.Seq
		}
		p.launch(p.m.route(msg))
	default:
		p.launch(p.m.route(msg))
	}
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	s = capital(strings.TrimSpace(s))
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}

// greet says who and what this is.
func (p *plain) greet() {
	who := cmp.Or(p.e.Admin, "the admin")
	p.say("Arbiter without a screen. You are %s.", who)
	p.say("Answer with a number or a word; help lists the words, quit leaves and stops nothing.")
	if why := p.e.Off(); why != "" {
		p.say("Nothing can be decided now: %s.", why)
	}
}

// task is the task of an id, nil when there is none.
func (p *plain) task(id amp.TaskID) *amp.Task { return p.e.Board.Task(id) }
