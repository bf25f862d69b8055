package amp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// plainSame is what it means that two descriptions have the same words, written down as it is read.
func plainSame(a, b string) bool {
	wa, wb := strings.Fields(strings.ToLower(a)), strings.Fields(strings.ToLower(b))
	if len(wa) == 0 || len(wb) == 0 {
		return len(wa) == len(wb)
	}
	left, shared := slices.Clone(wb), 0
	for _, w := range wa {
		if i := slices.Index(left, w); i >= 0 {
			left = slices.Delete(left, i, i+1)
			shared++
		}
	}
	return 10*shared >= 6*max(len(wa), len(wb))
}

// Design, section 4: findings keep stable ids. What is found again has the id that it had, as the plain rule says.
func TestFindings_recur(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 11)) // repeats
	for range 300 {
		task := &Task{}
		var plain []ReviewFinding
		for task.Round = 1; task.Round <= 4; task.Round++ {
			var issues []Issue
			for range rng.IntN(2 * maxAlike) {
				words := make([]string, rng.IntN(7))
				for w := range words {
					words[w] = string(rune('a' + rng.IntN(5)))
				}
				issues = append(issues, Issue{File: fmt.Sprint(rng.IntN(8)), Description: strings.Join(words, " ")})
			}
			task.noteFindings(issues)
			for _, i := range issues {
				k := slices.IndexFunc(plain, func(f ReviewFinding) bool { return f.File == i.File && plainSame(f.Description, i.Description) })
				if k < 0 {
					k = len(plain)
					plain = append(plain, ReviewFinding{ID: fmt.Sprintf("F%d", k+1), File: i.File})
				}
				f := &plain[k]
				if f.Description = i.Description; !slices.Contains(f.Rounds, task.Round) {
					f.Rounds = append(f.Rounds, task.Round)
				}
			}
		}
		if a, b := fmt.Sprint(task.Findings), fmt.Sprint(plain); a != b {
			t.Fatalf("findings\n%s\nwant\n%s", a, b)
		}
	}
}

// Beyond the findings that are compared word by word, the same words in the same order are the same finding.
func TestFindings_many(t *testing.T) {
	t.Parallel()
	const n = 10 * maxAlike
	task := &Task{}
	for task.Round = 1; task.Round <= 2; task.Round++ {
		task.noteFindings(crowd(n))
	}
	if len(task.Findings) != n {
		t.Fatalf("%d findings, want %d", len(task.Findings), n)
	}
	for _, f := range task.Findings {
		if len(f.Rounds) != 2 {
			t.Fatalf("%s in the rounds %v", f.ID, f.Rounds)
		}
	}
}

// crowd are issues in one file that have no word in common.
func crowd(n int) []Issue {
	all := make([]Issue, n)
	for i := range all {
		all[i] = Issue{Severity: IssueMajor, File: "count.sh", Description: fmt.Sprintf("a%d b%d c%d", i, i, i)}
	}
	return all
}

// BenchmarkFindings folds the issues of a verdict. The metric x-linear is the time of eight times as many of them, by eight times the time of
// few: what is linear is near 1.
func BenchmarkFindings(b *testing.B) {
	const few = 1000
	for name, issues := range map[string][2][]Issue{
		"in one file": {crowd(few), crowd(8 * few)},
		"long":        {{{File: "a", Description: long(few)}, {File: "a", Description: long(few)}}, {{File: "a", Description: long(8 * few)}, {File: "a", Description: long(8 * few)}}},
	} {
		b.Run(name, func(b *testing.B) {
			var times [2][]time.Duration
			for b.Loop() {
				for k := range issues {
					start := time.Now()
					(&Task{Round: 1}).noteFindings(issues[k])
					times[k] = append(times[k], time.Since(start))
				}
			}
			ratio := quartile(times[1]) / quartile(times[0]) / 8
			b.ReportMetric(ratio, "x-linear")
			if ratio > 3 {
				b.Errorf("eight times as much takes %.1f times as long", 8*ratio)
			}
		})
	}
}

// long is a description of so many words.
func long(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}
