package forge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"arbiter/amp"
)

// SignatureHeader carries GitHub's signature of a webhook, EventHeader its event, DeliveryHeader its id.
const (
	SignatureHeader = "X-Hub-Signature-256"
	EventHeader     = "X-GitHub-Event"
	DeliveryHeader  = "X-GitHub-Delivery"
)

// Sign is GitHub's signature of a body: sha256=HEX.
func Sign(secret, body []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// Signed reports whether a signature is that of the body, in a time that tells nothing of it.
func Signed(secret []byte, header string, body []byte) bool {
	return len(secret) > 0 && hmac.Equal([]byte(header), []byte(Sign(secret, body)))
}

// ErrNoEvent says that an event is none of those that concern a task.
var ErrNoEvent = errors.New("the event concerns no task")

// Decode reads the body of a webhook. It is [ErrNoEvent] for an event that is not understood, and another error for a body that is not
// what its event says. Source, Delivery and Digest are left to the caller.
func Decode(event string, body []byte) (o amp.Outside, err error) {
	switch event {
	case "check_run", "check_suite", "status", "workflow_run", "pull_request", "pull_request_review", "pull_request_review_comment", "issue_comment":
	default:
		return o, ErrNoEvent
	}
	parsed, err := gh.ParseWebHook(event, body)
	if err != nil || kindless(parsed) {
		return o, fmt.Errorf("read the event %s: its body is not what GitHub sends", event)
	}
	switch e := parsed.(type) {
	case *gh.CheckRunEvent:
		o = checkRun(e.GetCheckRun())
		o.Repo, o.What = e.GetRepo().GetFullName(), event+" "+e.GetAction()
	case *gh.CheckSuiteEvent:
		s := e.GetCheckSuite()
		o = check("suite/"+s.GetApp().GetSlug(), s.GetStatus(), s.GetConclusion(), s.GetHeadSHA(), s.GetHeadBranch())
		o.At, o.Repo, o.What = s.GetUpdatedAt().UTC(), e.GetRepo().GetFullName(), event+" "+e.GetAction()
	case *gh.StatusEvent:
		o = check(ofCheck(e.GetContext()), "", e.GetState(), e.GetSHA(), "")
		o.URL, o.At, o.Repo, o.What = e.GetTargetURL(), e.GetUpdatedAt().UTC(), e.GetRepo().GetFullName(), event+" "+e.GetState()
	case *gh.WorkflowRunEvent:
		w := e.GetWorkflowRun()
		o = check("workflow/"+w.GetName(), w.GetStatus(), w.GetConclusion(), w.GetHeadSHA(), w.GetHeadBranch())
		o.URL, o.At, o.Repo, o.What = w.GetHTMLURL(), w.GetUpdatedAt().UTC(), e.GetRepo().GetFullName(), event+" "+e.GetAction()
	case *gh.PullRequestEvent:
		o = pull(e.GetRepo().GetFullName(), e.GetPullRequest())
		o.What = event + " " + e.GetAction()
	case *gh.PullRequestReviewEvent:
		p, v := e.GetPullRequest(), e.GetReview()
		o = remark(e.GetRepo().GetFullName(), p.GetNumber(), review(v))
		o.Event, o.Commit, o.Branch = amp.OutsideReview, v.GetCommitID(), p.GetHead().GetRef()
		o.URL, o.At, o.What = v.GetHTMLURL(), v.GetSubmittedAt().UTC(), event+" "+e.GetAction()
	case *gh.PullRequestReviewCommentEvent:
		p, c := e.GetPullRequest(), e.GetComment()
		o = remark(e.GetRepo().GetFullName(), p.GetNumber(), lineComment(c))
		o.Commit, o.Branch = c.GetCommitID(), p.GetHead().GetRef()
		o.URL, o.At, o.What = c.GetHTMLURL(), c.GetUpdatedAt().UTC(), event+" "+e.GetAction()
	case *gh.IssueCommentEvent:
		issue, c := e.GetIssue(), e.GetComment()
		if issue == nil || !issue.IsPullRequest() {
			return o, ErrNoEvent
		}
		o = remark(e.GetRepo().GetFullName(), issue.GetNumber(), &amp.Remark{Author: c.GetUser().GetLogin(), Text: c.GetBody()})
		o.URL, o.At, o.What = c.GetHTMLURL(), c.GetUpdatedAt().UTC(), event+" "+e.GetAction()
	}
	return o, judge(&o)
}

// kindless reports whether nothing was read, as of a body that is null.
func kindless(parsed any) bool { return parsed == nil || reflect.ValueOf(parsed).IsNil() }

// told are the actions of each event that are kept. What is deleted there is not unsaid in the journal.
var told = map[string][]string{
	"check_run": {"created", "completed"}, "check_suite": {"requested", "rerequested", "completed"},
	"workflow_run": {"requested", "in_progress", "completed"}, "pull_request": {"opened", "reopened", "synchronize", "closed"},
	"pull_request_review": {"submitted", "edited", "dismissed"}, "pull_request_review_comment": {"created", "edited"},
	"issue_comment": {"created", "edited"},
}

// judge refuses what lacks what it is about, and passes over actions that say nothing new.
func judge(o *amp.Outside) error {
	event, action, _ := strings.Cut(o.What, " ")
	if actions := told[event]; actions != nil && !slices.Contains(actions, action) {
		return ErrNoEvent
	}
	switch {
	case o.CI != nil && (!isCommit(o.Commit) || strings.HasSuffix(o.CI.Name, "/")):
		return fmt.Errorf("the event %s names no commit, or no check", o.What)
	case o.Pull != nil && (o.Pull.Number <= 0 || o.Pull.Repo == ""):
		return fmt.Errorf("the event %s names no pull request", o.What)
	}
	return nil
}

// isCommit reports whether s is the whole name of a commit.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// ofCheck is the name of a check run or of a status. It is never that of a suite or of a workflow: what a check is called says who pushes, in a
// workflow of the branch, and it is not to stand for another one that failed.
func ofCheck(name string) string {
	if strings.HasPrefix(name, "suite/") || strings.HasPrefix(name, "workflow/") {
		return "check/" + name
	}
	return name
}

// check is a report of a check that GitHub knows.
func check(name, status, conclusion, commit, branch string) amp.Outside {
	said := conclusion
	if status != "" && status != "completed" || said == "" {
		said = status
	}
	return amp.Outside{Event: amp.OutsideCI, Commit: commit, Branch: branch, CI: &amp.CIReport{Name: "github/" + name, State: stateOf(said), Said: said}}
}

func checkRun(r *gh.CheckRun) amp.Outside {
	o := check(ofCheck(r.GetName()), r.GetStatus(), r.GetConclusion(), r.GetHeadSHA(), r.GetCheckSuite().GetHeadBranch())
	o.URL, o.At = r.GetHTMLURL(), r.GetStartedAt().UTC()
	if done := r.GetCompletedAt(); !done.IsZero() {
		o.At = done.UTC()
	}
	return o
}

// stateOf is what GitHub's status or conclusion means here. What is not known is pending: it passes nothing.
func stateOf(said string) amp.CIState {
	switch said {
	case "success":
		return amp.CheckPassed
	case "failure", "error", "timed_out", "startup_failure":
		return amp.CheckFailed
	case "cancelled", "stale":
		return amp.CheckCanceled
	case "skipped", "neutral":
		return amp.CheckSkipped
	}
	return amp.CheckPending
}

// pull is the state of a pull request, with the commit at its head.
func pull(repo string, p *gh.PullRequest) amp.Outside {
	s := &amp.PullState{Repo: repo, Number: p.GetNumber(), State: amp.PullOpen, URL: p.GetHTMLURL(), At: p.GetUpdatedAt().UTC()}
	switch {
	case p.GetMerged() || !p.GetMergedAt().IsZero():
		s.State, s.By = amp.PullMerged, p.GetMergedBy().GetLogin()
		if isCommit(p.GetMergeCommitSHA()) {
			s.Merge = p.GetMergeCommitSHA()
		}
	case p.GetState() == "closed":
		s.State = amp.PullClosed
	}
	return amp.Outside{
		Event: amp.OutsidePull, Repo: repo, Commit: p.GetHead().GetSHA(), Branch: p.GetHead().GetRef(), URL: s.URL, At: s.At, Pull: s,
	}
}

// remark is what somebody wrote about a pull request; the request's own state is not told by it.
func remark(repo string, number int, r *amp.Remark) amp.Outside {
	return amp.Outside{Event: amp.OutsideComment, Repo: repo, Pull: &amp.PullState{Repo: repo, Number: number}, Remark: r}
}

func review(v *gh.PullRequestReview) *amp.Remark {
	verdict := strings.ToLower(v.GetState())
	return &amp.Remark{Author: v.GetUser().GetLogin(), Verdict: verdict, Text: v.GetBody()}
}

func lineComment(c *gh.PullRequestComment) *amp.Remark {
	return &amp.Remark{Author: c.GetUser().GetLogin(), File: c.GetPath(), Line: c.GetLine(), Text: c.GetBody()}
}
