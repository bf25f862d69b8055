package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// Searches within a time find what was written in it, also after clocks stepped back, and wherever the index is.
func TestSearch_clocksStepBack(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	r := rand.New(rand.NewPCG(5, 6))
	at := ssottest.Start
	var records []amp.Record
	for i := range 1500 {
		if at = at.Add(time.Duration(r.IntN(3000)) * time.Millisecond); r.IntN(200) == 0 {
			at = at.Add(-time.Duration(r.IntN(900)) * time.Second)
		}
		n := ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1+i%3), []string{"hello there", "there hello", "work"}[r.IntN(3)])
		n.At = at
		records = append(records, n)
	}
	for page := range slices.Chunk(records, 300) {
		if _, err := log.Append(t.Context(), page); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	indexed(t, log)
	rapid.Check(t, func(r *rapid.T) {
		moment := func(label string) string {
			return ssottest.Start.Add(time.Duration(rapid.IntRange(-100, 2500).Draw(r, label)) * time.Second).Format(time.RFC3339)
		}
		text := rapid.SampledFrom([]string{"", "hello ", `"hello there" `, "-work ", "kind:plan ", "nowhere "}).Draw(r, "what")
		if rapid.Bool().Draw(r, "since") {
			text += "since:" + moment("from") + " "
		}
		if rapid.Bool().Draw(r, "until") || text == "" {
			text += "until:" + moment("to")
		}
		scanned(t, log, all, text)
	})
}
