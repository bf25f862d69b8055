package coordinator

import (
	"fmt"
	"strings"

	"arbiter/amp"
)

// notes tell the reviewer where to look: open criteria (AMP-080), refuted claims, findings that were open, the near lock
// (AMP-112, A27).
func notes(t *amp.Task, r *amp.Result) string {
	var lines []string
	if t.RejectCount >= 2 {
		lines = append(lines, fmt.Sprintf("Lock is approaching: %d of %d rejects.", t.RejectCount, t.LockAt()))
	}
	for i, met := range r.SelfAssessment.CriteriaMet {
		if met == nil && i < len(t.Plan.AcceptanceCriteria) {
			lines = append(lines, fmt.Sprintf("The executor could not verify criterion %d: %s.", i+1, t.Plan.AcceptanceCriteria[i]))
		}
	}
	if t.Checked != nil {
		for _, f := range t.Checked.Refutations {
			lines = append(lines, "Refuted by git: "+f+".")
		}
	}
	for _, f := range t.Findings {
		lines = append(lines, fmt.Sprintf("Open before: %s %s in %s: %s", f.ID, f.Severity, f.File, f.Description))
	}
	return listed(lines)
}

// maxListed bounds the lines that a message repeats of earlier ones and of what programs printed: it must hold them whatever they say.
const maxListed = 64 << 10

// listed are lines as far as they have room.
func listed(lines []string) string {
	text := strings.Join(lines, "\n")
	if len(text) <= maxListed {
		return text
	}
	return strings.ToValidUTF8(text[:maxListed], "") + "… (cut here: the rest stands in the journal)"
}

// maxSaid bounds what an entry of a turn holds of the words of its agent, maxName a name that it gives to something. An entry that is too long is not
// stored, and a turn whose end is not written down has none.
const (
	maxSaid = 16 << 10
	maxName = 1 << 10
)

// said are words of an agent as far as an entry has room.
func said(text string) string {
	if len(text) <= maxSaid {
		return text
	}
	return strings.ToValidUTF8(text[:maxSaid], "") + "… (cut here: the log of the turn holds more)"
}

// named is a name that an agent gave, "" for one that is none.
func named(name string) string {
	if len(name) > maxName {
		return ""
	}
	return name
}
