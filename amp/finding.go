package amp

import (
	"fmt"
	"slices"
	"strings"
)

// ReviewFinding is a blocking or minor issue with an id that stays the same over the rounds of a task.
type ReviewFinding struct {
	ID          string        `json:"id"`
	Severity    IssueSeverity `json:"severity"`
	File        string        `json:"file"`
	Line        int           `json:"line"`
	Description string        `json:"description"`
	Fix         string        `json:"suggested_fix,omitzero"`
	// Rounds are the rounds whose verdict named it, ascending.
	Rounds []int `json:"rounds"`
}

// maxAlike is how many findings of a file an issue is compared with word by word. Beyond them, which no person reads, only the same words in the
// same order recur: a reviewer may write as many issues as a message holds, and the fold of it must not take longer than reading it.
const maxAlike = 32

// noteFindings gives each issue an id that recurs when the same thing is found again: same file and the same words.
func (t *Task) noteFindings(issues []Issue) {
	files := map[string]*fileFindings{}
	for _, i := range issues {
		files[i.File] = &fileFindings{}
	}
	for k := range t.Findings {
		if in := files[t.Findings[k].File]; in != nil {
			in.note(k, bagOf(t.Findings[k].Description))
		}
	}
	for _, i := range issues {
		in, words := files[i.File], bagOf(i.Description)
		k := in.find(words)
		if k < 0 {
			k = len(t.Findings)
			t.Findings = append(t.Findings, ReviewFinding{ID: fmt.Sprintf("F%d", k+1), File: i.File})
		}
		in.note(k, words)
		f := &t.Findings[k]
		f.Severity, f.Line, f.Description, f.Fix = i.Severity, i.Line, i.Description, i.SuggestedFix
		if !slices.Contains(f.Rounds, t.Round) {
			f.Rounds = append(f.Rounds, t.Round)
		}
	}
}

// fileFindings are the findings in one file, by their index among all.
type fileFindings struct {
	alike []int
	bags  []bag // of alike
	more  map[string]int
}

// note keeps the words that a finding has now.
func (in *fileFindings) note(k int, words bag) {
	if n := slices.Index(in.alike, k); n >= 0 {
		in.bags[n] = words
		return
	}
	if len(in.alike) < maxAlike {
		in.alike, in.bags = append(in.alike, k), append(in.bags, words)
		return
	}
	if in.more == nil {
		in.more = map[string]int{}
	}
	if _, known := in.more[words.text]; !known {
		in.more[words.text] = k
	}
}

// find is the first finding with the same words, -1 when there is none.
func (in *fileFindings) find(words bag) int {
	for n := range in.bags {
		if in.bags[n].same(&words) {
			return in.alike[n]
		}
	}
	if k, known := in.more[words.text]; known {
		return k
	}
	return -1
}

// bag are the words of a description, in lower case.
type bag struct {
	text  string
	words int
	times map[string]int
}

func bagOf(text string) bag {
	all := strings.Fields(strings.ToLower(text))
	b := bag{text: strings.Join(all, " "), words: len(all), times: make(map[string]int, len(all))}
	for _, w := range all {
		b.times[w]++
	}
	return b
}

// same reports whether two descriptions share at least 60 % of their words, in any order.
func (b *bag) same(o *bag) bool {
	few, many := min(b.words, o.words), max(b.words, o.words)
	if few == 0 || 10*few < 6*many {
		return few == many
	}
	shared := 0
	for w, n := range b.times {
		shared += min(n, o.times[w])
	}
	return 10*shared >= 6*many
}
