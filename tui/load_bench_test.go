package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// hose is a script whose journal goes on by so many entries a second once it is followed.
type hose struct {
	*tuitest.Script
	perSecond int
	head      amp.Head
	ids       []amp.TaskID
	offered   atomic.Int64
}

func newHose(s *tuitest.Script, perSecond int) *hose {
	board := s.Board()
	return &hose{Script: s, perSecond: perSecond, head: board.Head, ids: board.Order}
}

// Follow hands over what is due, a hundred times a second.
func (h *hose) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	if after != h.head.Seq {
		return fmt.Errorf("followed from #%d, not #%d", after, h.head.Seq)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var due []amp.Entry
		for want := int64(time.Since(began).Seconds() * float64(h.perSecond)); h.offered.Load() < want; h.offered.Add(1) {
			n := int(h.offered.Load())
			id := h.ids[n*7919%len(h.ids)]
			e := h.head.Chain(amp.Record{
				Kind: amp.KindTurn, TaskID: id, Role: amp.Executor, Actor: "codex", At: tuitest.SceneEnd, ID: "h" + strconv.Itoa(n),
				Body: amp.EncodeBody(&amp.Turn{Event: amp.TurnProgress, TaskID: id, Role: amp.Executor, Agent: "codex", TurnID: "x", Text: "at it"}),
			})
			h.head = amp.Head{Seq: e.Seq, Hash: e.Hash}
			due = append(due, e)
		}
		if err := batch(due); err != nil {
			return err
		}
	}
}

// counter is the model with a mark behind its frame that says how many keys and entries it has handled.
type counter struct {
	*model
	keys   int
	folded atomic.Int64
	resync atomic.Int64
}

func (c *counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		c.keys += len(msg.Runes)
	case batchMsg:
		c.folded.Add(int64(len(msg.entries)))
	case syncedMsg:
		c.resync.Add(1)
	}
	_, cmd := c.model.Update(msg)
	return c, cmd
}

const countMark = "\x1b]7997;"

func (c *counter) View() string { return c.model.View() + countMark + strconv.Itoa(c.keys) + "\a" }

// eye is a terminal that tells when a mark has been written.
type eye struct {
	seen  chan int // the newest mark
	bytes atomic.Int64
}

func (y *eye) Write(p []byte) (int, error) {
	y.bytes.Add(int64(len(p)))
	if i := bytes.LastIndex(p, []byte(countMark)); i >= 0 {
		rest := p[i+len(countMark):]
		if n, err := strconv.Atoi(string(rest[:max(bytes.IndexByte(rest, '\a'), 0)])); err == nil {
			y.seen <- n
		}
	}
	return len(p), nil
}

// BenchmarkKeyToWrite presses a key at random moments in the running program, with its renderer and 10,000 tasks, while entries
// arrive, and reports how long it takes until the frame that answers the key is written to the terminal: in milliseconds, and in
// flush periods of the renderer, of which the budget is 1.5. Run it with -benchtime 200x or more: a percentile needs that many.
func BenchmarkKeyToWrite(b *testing.B) {
	script := many(10_000)
	for _, perSecond := range []int{0, 2_000, 20_000} {
		b.Run(fmt.Sprintf("%d-entries-a-second", perSecond), func(b *testing.B) { keyToWrite(b, newHose(script, perSecond)) })
	}
}

func keyToWrite(b *testing.B, h *hose) {
	m, cancel := testModel(b, h.Script, theme.Default(), func(c *Config) { c.Session = h })
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { m.pump.run(m.env.ctx) })
	keys, keyboard := io.Pipe()
	c, y := &counter{model: m}, &eye{seen: make(chan int, 64)}
	p := tea.NewProgram(c, tea.WithInput(keys), tea.WithOutput(y), tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithFPS(flushRate))
	wg.Go(func() { _, _ = p.Run() })
	p.Send(tea.WindowSizeMsg{Width: 200, Height: 50})
	pressed := 0
	press := func(key string) {
		pressed++
		if _, err := keyboard.Write([]byte(key)); err != nil {
			b.Fatal(err)
		}
		for n := range y.seen {
			if n == pressed {
				return
			}
		}
	}
	press("j")
	for c.resync.Load() == 0 || h.perSecond > 0 && c.folded.Load() == 0 {
		time.Sleep(time.Millisecond) // the board is on its way
	}
	press("2")
	var took []time.Duration
	began, folded, offered := time.Now(), c.folded.Load(), h.offered.Load()
	for i := 0; b.Loop(); i++ {
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond) // any phase of the renderer
		for len(y.seen) > 0 {
			<-y.seen
		}
		at := time.Now()
		press([]string{"j", "k"}[i%2])
		took = append(took, time.Since(at))
	}
	span := time.Since(began).Seconds()
	folded, offered = c.folded.Load()-folded, h.offered.Load()-offered
	p.Quit()
	cancel()
	go func() { // what is still written
		for range y.seen {
		}
	}()
	wg.Wait()
	close(y.seen)
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
	b.ReportMetric(at(0.95)/(1000.0/flushRate), "p95-flush-periods")
	b.ReportMetric(float64(folded)/span, "entries/s")
	if offered > 0 {
		b.ReportMetric(float64(folded)/float64(offered), "accepted")
	}
	b.ReportMetric(float64(c.resync.Load()-1), "boards-asked-anew") // a machine with other work was too slow to follow
}
