package coordinator

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// The simulation runs coordinators, agents, git, a store and an admin in one goroutine, each step chosen by a generator that starts
// from a seed: what happens to messages, processes and clocks repeats exactly. After each step the journal and the world are held to
// what must be true of them, and at the end, without faults, everything must come to its end.

// simSeeds is how many seeds one push runs; ARBITER_SIM_SEEDS sets another number and ARBITER_SIM_FROM the first of them, ARBITER_SIM_SEED
// runs one alone and tells its story.
const simSeeds = 100

// simEvents is how many things happen to a seed while there are faults.
const simEvents = 500

// TestSimulation: whatever is lost, late, doubled, reordered, killed, paused, or told another time of day.
func TestSimulation(t *testing.T) {
	t.Parallel()
	simulate(t, "TestSimulation", simSetting{members: 1}, simSeeds)
}

// TestSimulation_team: the same with three coordinators on one journal, some of which stand still, are cut off, or lose answers.
func TestSimulation_team(t *testing.T) {
	t.Parallel()
	simulate(t, "TestSimulation_team", simSetting{members: 3}, simSeeds/4)
}

// TestSimulation_clones: the same with a clone of its own on each machine, and a remote between them that fails now and then.
func TestSimulation_clones(t *testing.T) {
	t.Parallel()
	simulate(t, "TestSimulation_clones", simSetting{members: 3, clones: true}, simSeeds/4)
}

// simulate runs the seeds on every processor and reports the first that fails.
func simulate(t *testing.T, name string, how simSetting, seeds uint64) {
	t.Helper()
	how.home = t.TempDir()
	if one := os.Getenv("ARBITER_SIM_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		how.story = true
		r := runSeed(t, how, seed)
		for _, line := range r.story {
			t.Log(line)
		}
		if r.failed != nil {
			t.Fatal(r.failed)
		}
		return
	}
	from := uint64(0)
	for name, number := range map[string]*uint64{"ARBITER_SIM_SEEDS": &seeds, "ARBITER_SIM_FROM": &from} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *number, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatalf("%s is no number: %v", name, err)
			}
		}
	}
	var next atomic.Uint64
	var failed atomic.Bool
	var mu sync.Mutex
	total := simCounts{}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !failed.Load() {
				seed := next.Add(1) - 1
				if seed >= seeds {
					return
				}
				seed += from
				r := runSeed(t, how, seed)
				mu.Lock()
				total.add(r.counts)
				mu.Unlock()
				if r.failed != nil && !failed.Swap(true) {
					t.Errorf("seed %d: %v\nrepeat it with its story: %s", seed, r.failed, repeatWith(name, seed))
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d seeds: %s", seeds, total)
	for _, must := range total.missing(how) {
		t.Errorf("in %d seeds there never was %s: the simulation does not reach what it is for", seeds, must)
	}
}

// repeatWith is the command that runs one seed again.
func repeatWith(name string, seed uint64) string {
	return fmt.Sprintf("ARBITER_SIM_SEED=%d go test ./coordinator -count=1 -v -run '^%s$'", seed, name)
}

// runSeed runs one seed in a bubble of its own: its clocks begin at the same moment and stand still while something happens.
func runSeed(t *testing.T, how simSetting, seed uint64) (r simReport) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = newSim(how, seed).run() })
	return r
}

// The same seed is the same journal, byte for byte.
func TestSimulation_repeats(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]simSetting{"one": {members: 1}, "team": {members: 3}, "clones": {members: 3, clones: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how.home = t.TempDir()
			for seed := range uint64(10) {
				first, again := runSeed(t, how, seed), runSeed(t, how, seed)
				if first.head != again.head || first.failed != nil {
					t.Errorf("seed %d: first %v, then %v; %v", seed, first.head, again.head, first.failed)
				}
			}
		})
	}
}
