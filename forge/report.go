package forge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
)

// Report is what a CI system that is not GitHub says of a run. Its bytes are signed as our own webhooks are.
type Report struct {
	// ID names this report: the same id again changes nothing.
	ID       string `json:"id"`
	Pipeline string `json:"pipeline"`
	Job      string `json:"job,omitzero"`
	Commit   string `json:"commit"`
	Branch   string `json:"branch,omitzero"`
	// Status is passed, failed, pending, skipped or canceled.
	Status amp.CIState `json:"status"`
	URL    string      `json:"url,omitzero"`
	// At is when the run had this status; without it a report that arrives later counts as later.
	At time.Time `json:"at,omitzero"`
}

// DeliveryID is the form of the ids of deliveries.
var DeliveryID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`)

// name is how pipelines and jobs are called; the slash is what joins them.
var name = regexp.MustCompile(`^[^/\s\pC](?:[^/\pC]{0,98}[^/\s\pC])?$`)

// DecodeReport reads a report of a CI system, and says every problem. Source and Digest are left to the caller.
func DecodeReport(body []byte) (o amp.Outside, problems []amp.Problem) {
	bad := func(field, format string, args ...any) {
		problems = append(problems, amp.Problem{Rule: "hook", Field: field, Message: fmt.Sprintf(format, args...)})
	}
	var r Report
	if err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true)); err != nil {
		bad("", "is no report: it is one object with id, pipeline, job, commit, branch, status, url and at")
		return o, problems
	}
	if !DeliveryID.MatchString(r.ID) {
		bad("id", "is needed: up to 128 letters, digits and . _ : @ / -")
	}
	if !name.MatchString(r.Pipeline) {
		bad("pipeline", "is needed: up to 100 characters without a slash")
	}
	if r.Job != "" && !name.MatchString(r.Job) {
		bad("job", "has up to 100 characters without a slash")
	}
	if slices.Contains([]string{"local", "github", "last_updated"}, r.Pipeline) {
		bad("pipeline", "is %q, which is a name of Arbiter's own", r.Pipeline)
	}
	if !isCommit(r.Commit) {
		bad("commit", "is the whole hash of a commit, in lower case")
	}
	if !slices.Contains(amp.CIStates, r.Status) {
		bad("status", "is one of passed, failed, pending, skipped, canceled")
	}
	if r.URL != "" && !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://") {
		bad("url", "is no http or https address")
	}
	if len(problems) > 0 {
		return o, problems
	}
	key := r.Pipeline
	if r.Job != "" {
		key += "/" + r.Job
	}
	return amp.Outside{
		Event: amp.OutsideCI, Delivery: r.ID, What: "report", Commit: r.Commit, Branch: r.Branch, URL: r.URL, At: r.At.UTC().Truncate(time.Millisecond),
		CI: &amp.CIReport{Name: key, State: r.Status, Said: string(r.Status)},
	}, nil
}
