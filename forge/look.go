package forge

import (
	"context"
	"fmt"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"arbiter/amp"
)

// maxPages bounds what is read of one list.
const maxPages = 3

// Look asks how a pull request stands, and what was reported and said of it at its commit. Each report has an id that is the same for the same
// state. What has not changed since it was asked for last costs nothing of the hour's limit.
func (c *Client) Look(ctx context.Context, at amp.PullState, commit string) (all []amp.Outside, err error) {
	if _, err := c.Token(ctx); err != nil {
		return nil, err
	}
	owner, name, _ := strings.Cut(at.Repo, "/")
	p, _, err := c.client.PullRequests.Get(ctx, owner, name, at.Number)
	if err != nil {
		return nil, err
	}
	add := func(what string, id int64, o amp.Outside) {
		o.Source, o.Repo, o.What = "github", at.Repo, what
		state := ""
		switch {
		case o.CI != nil:
			state = string(o.CI.State)
		case o.Remark == nil && o.Pull != nil:
			state = string(o.Pull.State)
		}
		o.Delivery = fmt.Sprintf("poll/%s/%s/%d/%s/%d", at.Repo, strings.ReplaceAll(what, " ", "_"), id, state, o.At.Unix())
		all = append(all, o)
	}
	if o := pull(at.Repo, p); o.Pull.State != at.State {
		add("pull_request", int64(at.Number), o)
	}
	if err := c.lookChecks(ctx, owner, name, commit, add); err != nil {
		return all, err
	}
	return all, c.lookRemarks(ctx, owner, name, at, add)
}

// lookChecks reads the check runs and statuses of a commit; of each status the newest.
func (c *Client) lookChecks(ctx context.Context, owner, name, commit string, add func(string, int64, amp.Outside)) error {
	err := pages(func(list gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.client.Checks.ListCheckRunsForRef(ctx, owner, name, commit, &gh.ListCheckRunsOptions{ListOptions: list})
		if err != nil {
			return nil, err
		}
		for _, r := range got.CheckRuns {
			if o := checkRun(r); o.Commit == commit {
				add("check_run", r.GetID(), o)
			}
		}
		return resp, nil
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	return pages(func(list gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.client.Repositories.ListStatuses(ctx, owner, name, commit, &list)
		if err != nil {
			return nil, err
		}
		for _, s := range got { // the newest comes first
			if seen[s.GetContext()] {
				continue
			}
			seen[s.GetContext()] = true
			o := check(ofCheck(s.GetContext()), "", s.GetState(), commit, "")
			o.URL, o.At = s.GetTargetURL(), s.GetUpdatedAt().UTC()
			add("status", s.GetID(), o)
		}
		return resp, nil
	})
}

// lookRemarks reads reviews and comments.
func (c *Client) lookRemarks(ctx context.Context, owner, name string, at amp.PullState, add func(string, int64, amp.Outside)) error {
	err := pages(func(list gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.client.PullRequests.ListReviews(ctx, owner, name, at.Number, &list)
		if err != nil {
			return nil, err
		}
		for _, v := range got {
			o := remark(at.Repo, at.Number, review(v))
			o.Event, o.Commit, o.URL, o.At = amp.OutsideReview, v.GetCommitID(), v.GetHTMLURL(), v.GetSubmittedAt().UTC()
			add("pull_request_review", v.GetID(), o)
		}
		return resp, nil
	})
	if err != nil {
		return err
	}
	err = pages(func(list gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.client.PullRequests.ListComments(ctx, owner, name, at.Number, &gh.PullRequestListCommentsOptions{ListOptions: list})
		if err != nil {
			return nil, err
		}
		for _, m := range got {
			o := remark(at.Repo, at.Number, lineComment(m))
			o.Commit, o.URL, o.At = m.GetCommitID(), m.GetHTMLURL(), m.GetUpdatedAt().UTC()
			add("pull_request_review_comment", m.GetID(), o)
		}
		return resp, nil
	})
	if err != nil {
		return err
	}
	return pages(func(list gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.client.Issues.ListComments(ctx, owner, name, at.Number, &gh.IssueListCommentsOptions{ListOptions: list})
		if err != nil {
			return nil, err
		}
		for _, m := range got {
			o := remark(at.Repo, at.Number, &amp.Remark{Author: m.GetUser().GetLogin(), Text: m.GetBody()})
			o.URL, o.At = m.GetHTMLURL(), m.GetUpdatedAt().UTC()
			add("issue_comment", m.GetID(), o)
		}
		return resp, nil
	})
}

// pages reads a list page by page.
func pages(read func(gh.ListOptions) (*gh.Response, error)) error {
	list := gh.ListOptions{PerPage: 100}
	for range maxPages {
		resp, err := read(list)
		if err != nil || resp.NextPage == 0 {
			return err
		}
		list.Page = resp.NextPage
	}
	return nil
}

// PollWait is how long to wait after a failure before anything is asked again.
func PollWait(err error, every time.Duration) time.Duration {
	if _, wait := Pause(err); wait > 0 {
		return max(wait, every)
	}
	return min(10*every, 10*time.Minute)
}
