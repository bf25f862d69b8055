package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/sandbox"
	"arbiter/server"
	"arbiter/ssot/sqlite"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether the coordinator runs, how the tasks stand, and what needs you",
		Args:  takes(),
		RunE:  a.do(func(c *cobra.Command, _ []string) error { return a.status(c.Context()) }),
	}
}

// statusReport is the JSON form of arbiter status.
type statusReport struct {
	Running     bool                  `json:"running"`
	Coordinator *amp.CoordinatorState `json:"coordinator,omitzero"`
	// Holder is who has the data directory while no coordinator answers.
	Holder *holderReport `json:"holder,omitzero"`
	Home   string        `json:"home"`
	// Store is the address of the database that holds the journal, empty where the data directory does.
	Store string `json:"store,omitzero"`
	Log   string `json:"log"`
	// Free is how much room the disk of the data directory has, absent where that is not known.
	Free     *uint64            `json:"free_bytes,omitzero"`
	Head     amp.Head           `json:"head"`
	Stopped  *amp.Stop          `json:"stopped,omitzero"`
	Tasks    map[amp.Status]int `json:"tasks"`
	Refusals int                `json:"refusals"`
	// Today is what all agents took on this day in UTC.
	Today amp.Usage `json:"today"`
	Waits []waiting `json:"waits"`
	// Mirror is how far the mirror on GitHub is, absent without one.
	Mirror *amp.MirrorState `json:"mirror,omitzero"`

	// held is who works on the journal in place of a coordinator, nil when nobody does.
	held *sqlite.HeldError
	// owners are the coordinators that ran the last turns.
	owners map[amp.TaskID]string
}

// holderReport is the JSON form of who has a data directory. PID is 0 when it has not said who it is yet.
type holderReport struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Version string    `json:"version,omitzero"`
	// Work is what it does there: a command, or what the coordinator is at.
	Work string `json:"work,omitzero"`
}

// waiting is one thing that needs a person.
type waiting struct {
	TaskID amp.TaskID `json:"task_id"`
	Title  string     `json:"title"`
	Status amp.Status `json:"status"`
	Since  time.Time  `json:"since"`
	// For says what is to be decided, Next the command that shows or decides it.
	For  string `json:"for"`
	Next string `json:"next"`

	need amp.Need
}

func (a *app) status(ctx context.Context) error {
	return a.looking(func(l *look) error {
		r := statusReport{Home: l.home, Log: filepath.Join(l.home, logName), Tasks: map[amp.Status]int{}, Waits: []waiting{}, owners: map[amp.TaskID]string{}}
		if a.url() == "" {
			if free, err := freeBytes(l.home); err == nil { // a folder that is not there yet has no disk
				r.Free = &free
			}
			if where, _, err := a.store(); err == nil && isDatabase(where) { // what is wrong with the configuration is said by what needs it
				r.Store = where
			}
		}
		state, err := l.Status(ctx)
		switch {
		case err == nil:
			r.Running, r.Coordinator = true, &state
			if l.client.Remote() != "" {
				r.Home, r.Log = state.Home, state.Log
			}
		case !errors.Is(err, server.ErrNotRunning) && !l.fallen(err):
			return err
		case l.client.Remote() == "":
			if r.held, err = sqlite.Holder(l.home); err != nil {
				return err
			}
			if h := r.held; h != nil {
				r.Holder = &holderReport{PID: h.PID, Host: h.Host, Started: h.Started, Version: h.Version, Work: h.Work}
			}
		}
		b, err := board(ctx, l)
		if err != nil {
			if r.Coordinator != nil && !a.json { // what it says of itself holds whether its journal can be read or not
				t := &table{}
				addCoordinator(t, &r, time.Now())
				addPlace(t, &r)
				t.print(a)
			}
			return err
		}
		r.Head, r.Stopped, r.Refusals, r.Today = b.Head, b.Stopped, b.Refusals, b.UsedOn(time.Now())
		if r.Coordinator != nil && r.Coordinator.Mirror != nil {
			r.Mirror = r.Coordinator.Mirror
		} else if a.url() == "" {
			r.Mirror = mirrorState(l.home, b.Head)
		}
		for _, id := range b.Order {
			t := b.Task(id)
			r.Tasks[t.Status]++
			if t.Owner != "" {
				r.owners[id] = t.Owner
			}
			r.Waits = append(r.Waits, waitsFor(t)...)
		}
		slices.SortFunc(r.Waits, func(a, b waiting) int { return amp.CompareNeeds(a.need, b.need) })
		if a.json {
			a.outJSON(&r)
			return nil
		}
		a.printStatus(&r, time.Now())
		return nil
	})
}

func (a *app) printStatus(r *statusReport, now time.Time) {
	t := &table{}
	addCoordinator(t, r, now)
	if s := r.Stopped; s != nil {
		t.add("stopped", fmt.Sprintf("by %s %s ago: %s; arbiter thaw goes on", s.By, ago(s.At, now), s.Why))
	}
	if c := r.Coordinator; c != nil && c.Listen != "" {
		t.add("listens", c.Listen)
	}
	addPlace(t, r)
	t.add("journal", fmt.Sprintf("%d entries, head %s", r.Head.Seq, short(r.Head.Hash.String())))
	if m := r.Mirror; m != nil {
		t.add("mirror", m.Repo+": "+mirrorText(m, now))
		if m.Trouble != "" {
			t.add("", "→ "+m.Next)
		} else if m.WithheldCount > 0 {
			t.add("", "→ arbiter mirror status names what was withheld")
		}
	}
	if c := r.Coordinator; c != nil && c.Bus != nil {
		addBus(t, c.Bus)
	}
	if r.Refusals > 0 {
		t.add("refused", fmt.Sprintf("%s in the error log: arbiter journal search --kind refusal", plural(r.Refusals, "message")))
	}
	var counts []string
	for _, s := range amp.Statuses {
		if n := r.Tasks[s]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if counts == nil {
		counts = []string{`none yet; arbiter task new "what you want done"`}
	}
	t.add("tasks", strings.Join(counts, ", "))
	t.add("used today", usageText(r.Today))
	t.print(a)
	if len(r.Waits) == 0 {
		a.out("\nNothing needs you.\n")
		return
	}
	a.out("\nNeeds you:\n")
	w := &table{}
	for _, x := range r.Waits[:min(maxWaits, len(r.Waits))] {
		w.add("  "+string(x.TaskID), ago(x.Since, now), x.For, x.Title)
	}
	w.print(a)
	if more := len(r.Waits) - maxWaits; more > 0 {
		a.out("  and %d more: arbiter task list, arbiter escalation list, or arbiter status --json\n", more)
	}
}

// addCoordinator says who the coordinator is, what it has at work, and who else there is.
func addCoordinator(t *table, r *statusReport, now time.Time) {
	if c := r.Coordinator; c != nil {
		t.add("coordinator", fmt.Sprintf("process %d, version %s, since %s", c.PID, c.Version, ago(c.Started, now)))
		t.add("agents at work", fmt.Sprintf("%d of %d", c.Turns, c.Slots))
		for _, role := range []amp.Role{amp.Coordinator, amp.Executor, amp.Reviewer} {
			names := strings.Join(c.Agents[role], ", ")
			if names == "" {
				names = "none is configured"
			}
			t.add(string(role), names)
		}
		if free := unconfined(c.Crew); len(free) > 0 {
			t.add("UNCONFINED", strings.Join(free, ", ")+`: sandbox is "off"`)
		}
	} else {
		t.add("coordinator", atWork(r.held, now))
	}
	if r.Coordinator != nil {
		addTeam(t, r.Coordinator.Team, r.owners, now)
	}
}

// addPlace says where everything is.
func addPlace(t *table, r *statusReport) {
	t.add("data", r.Home)
	if r.Store != "" {
		t.add("store", r.Store)
	}
	t.add("log", r.Log)
	if f := r.Free; f != nil && *f < noRoom {
		t.add("DISK FULL", fmt.Sprintf("%d MiB are free for the data directory: make room there; nothing new is stored meanwhile, and nothing is lost", *f>>20))
	} else if f != nil && *f < lowRoom {
		t.add("disk", fmt.Sprintf("%d MiB are free for the data directory: make room there", *f>>20))
	}
}

// unconfined are the agents whose programs nothing holds.
func unconfined(crew []amp.AgentFacts) (names []string) {
	for i := range crew {
		if crew[i].Confined == string(sandbox.Off) {
			names = append(names, crew[i].Name)
		}
	}
	return names
}

// maxWaits is how many of the things that need a person arbiter status prints.
const maxWaits = 40

// waitsFor are what of a task needs a person, each with the command that goes on; nil when nothing does.
func waitsFor(t *amp.Task) []waiting {
	var all []waiting
	for _, n := range t.Needs() {
		what, next := needWords(t, &n)
		all = append(all, waiting{TaskID: t.ID, Title: t.Title, Status: t.Status, Since: n.At, For: what, Next: next, need: n})
	}
	return all
}

// needWords says what a need is about, and the command that goes on from it.
func needWords(t *amp.Task, n *amp.Need) (what, next string) {
	switch n.Kind {
	case amp.NeedQuestion:
		next = fmt.Sprintf("arbiter answer %s --question %s --option …", t.ID, n.Ref)
		for i := range t.Questions {
			if q := &t.Questions[i]; q.QuestionID == n.Ref && q.Type == amp.QuestionBudget && !slices.Contains(q.Options, amp.OptionToday) {
				next = fmt.Sprintf("arbiter raise-limit %s --turns … --wall … --tokens … --cost …", t.ID)
			}
		}
		return n.What + " question: " + n.Text, next
	case amp.NeedEscalation:
		return fmt.Sprintf("%s escalation %s: %s", n.Severity, n.What, n.Text), "arbiter escalation show " + n.Ref
	case amp.NeedPlan:
		what = fmt.Sprintf("approval of the plan, %s risk", t.Plan.RiskLevel)
		if t.First != nil {
			what = fmt.Sprintf("second approval of the plan, %s risk, by an admin who is not %s", t.Plan.RiskLevel, t.NotBy())
		}
		return what, "arbiter plan show " + string(t.ID)
	case amp.NeedDelivery:
		return n.What, "arbiter deliver " + string(t.ID)
	case amp.NeedHeld, amp.NeedFailed, amp.NeedStopped:
	}
	return n.Text, "arbiter task show " + string(t.ID)
}
