package tui

import (
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
)

// review is what an admin did with the changes of one task: what was viewed and seen, and the comments that wait for the next
// dispatch. It holds nothing of the screen and can be kept from one run to the next.
type review struct {
	Comments []comment `json:"comments,omitzero"`
	// Viewed are the changes of files that were marked, by [diffview.File.Key]: a file that changes again is not among them.
	Viewed map[string]bool `json:"viewed,omitzero"`
	// Seen is how far each hunk was on the screen.
	Seen map[string]int `json:"seen,omitzero"`
	// Evidence is how many hunks of the whole branch were seen, by its commit.
	Evidence map[string]evidence `json:"evidence,omitzero"`

	// sent are the comments that went out with the last decision, which may still be taken back.
	sent []comment
}

// evidence is how many hunks of a commit were on the screen from their first line to their last, of how many.
type evidence struct {
	Seen  int `json:"seen"`
	Total int `json:"total"`
}

// comment is what an admin says about a line, or about the lines From to Line.
type comment struct {
	ID   int    `json:"id"`
	File string `json:"file"`
	Line int    `json:"line"`
	From int    `json:"from,omitzero"`
	// Old says that it is about a line that was removed.
	Old bool `json:"old,omitzero"`
	// Commit is what the lines are of.
	Commit string `json:"commit,omitzero"`
	Text   string `json:"text"`
	// Offered are the drafts that it was put into.
	Offered []string `json:"offered,omitzero"`
}

// at is the place of a comment: "main.go:12", "main.go:12-15", "main.go:12 (removed)", "main.go".
func (c *comment) at() string {
	out := c.File
	switch {
	case c.Line <= 0:
	case c.From > 0 && c.From != c.Line:
		out += fmt.Sprintf(":%d-%d", min(c.From, c.Line), max(c.From, c.Line))
	default:
		out += fmt.Sprintf(":%d", c.Line)
	}
	if c.Old {
		out += " (removed)"
	}
	return out
}

// sentence is the comment as an agent gets it, on one line.
func (c *comment) sentence() string {
	return c.at() + ": " + strings.Join(strings.Fields(c.Text), " ")
}

// review returns what was done with the changes of a task, never nil.
func (d *desk) review(id amp.TaskID) *review {
	r := d.reviews[id]
	if r == nil {
		if d.reviews == nil {
			d.reviews = map[amp.TaskID]*review{}
		}
		r = &review{}
		d.reviews[id] = r
	}
	if r.Viewed == nil {
		r.Viewed = map[string]bool{}
	}
	if r.Seen == nil {
		r.Seen = map[string]int{}
	}
	if r.Evidence == nil {
		r.Evidence = map[string]evidence{}
	}
	return r
}

// seenDiff is how many hunks of the task's whole branch at a commit were on the screen, and how many there are: 0 of 0 when
// nobody looked.
func (d *desk) seenDiff(id amp.TaskID, commit string) (seen, total int) {
	if r := d.reviews[id]; r != nil {
		ev := r.Evidence[commit]
		return ev.Seen, ev.Total
	}
	return 0, 0
}

// put keeps a comment: a new one, or another text of one that is there; an empty text removes it.
func (r *review) put(c comment) {
	c.Text = strings.TrimSpace(c.Text)
	i := slices.IndexFunc(r.Comments, func(o comment) bool { return o.ID == c.ID })
	switch {
	case i >= 0 && c.Text == "":
		r.Comments = slices.Delete(r.Comments, i, i+1)
	case i >= 0:
		c.Offered = nil
		r.Comments[i] = c
	case c.Text != "":
		for _, o := range r.Comments {
			c.ID = max(c.ID, o.ID+1)
		}
		c.ID = max(c.ID, 1)
		r.Comments = append(r.Comments, c)
	}
}

// maxOffered bounds what comments add to the text of a decision.
const maxOffered = 12 << 10

// offer adds the comments to the text that a decision begins with. A draft keeps what was made of them: only what came since is
// added.
func (r *review) offer(key, text string) string {
	fresh := strings.TrimSpace(text) == ""
	for i := range r.Comments {
		c := &r.Comments[i]
		s := c.sentence()
		if strings.Contains(text, s) || !fresh && slices.Contains(c.Offered, key) {
			continue
		}
		if len(text)+len(s) > maxOffered {
			break // the rest stays for the next decision
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += s
		if !slices.Contains(c.Offered, key) {
			c.Offered = append(c.Offered, key)
		}
	}
	return text
}

// took forgets the comments that a command carried; [review.untake] brings them back.
func (r *review) took(key, note string) {
	r.sent = nil
	r.Comments = slices.DeleteFunc(r.Comments, func(c comment) bool {
		gone := slices.Contains(c.Offered, key) || strings.Contains(note, c.sentence())
		if gone {
			r.sent = append(r.sent, c)
		}
		return gone
	})
}

// untake brings back what went out with a decision that was taken back.
func (r *review) untake() {
	for _, c := range r.sent {
		c.Offered = nil
		r.Comments = append(r.Comments, c)
	}
	r.sent = nil
}

// guides are the commands whose text reaches the agent that works next.
var guides = []amp.CommandName{amp.Reject, amp.Redispatch, amp.Unlock, amp.Resume, amp.Reassign, amp.Split}

// guides reports whether the text of a decision goes into the next dispatch or plan.
func (p *proposal) guides() bool {
	return slices.Contains(guides, p.Command) || slices.Contains(guides, p.Next)
}

// opening is the text that a decision begins with: the draft, or what the proposal brings, and the comments on the changes where
// they reach the agent.
func (d *desk) opening(p *proposal) string {
	text := d.draftOr(p.key(), p.Text)
	if !p.guides() || d.reviews[p.TaskID] == nil {
		return text
	}
	return d.review(p.TaskID).offer(p.key(), text)
}
