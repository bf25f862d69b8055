package forge

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
)

const sha = "0123456789abcdef0123456789abcdef01234567"

func TestDecode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	pull := func(state amp.PullStatus) *amp.PullState { return &amp.PullState{Repo: "a/b", Number: 7, State: state} }
	for name, x := range map[string]struct {
		event, body string
		want        amp.Outside
		err         string
	}{
		"check_run": {
			event: "check_run",
			body:  `{"action":"completed","repository":{"full_name":"a/b"},"check_run":{"name":"build","head_sha":"` + sha + `","status":"completed","conclusion":"timed_out","started_at":"2026-11-22T06:00:00Z","completed_at":"2026-11-22T07:00:00Z","html_url":"https://x","check_suite":{"head_branch":"f"}}}`,
			want: amp.Outside{
				Event: amp.OutsideCI, What: "check_run completed", Repo: "a/b", Commit: sha, Branch: "f", URL: "https://x", At: at,
				CI: &amp.CIReport{Name: "github/build", State: amp.CheckFailed, Said: "timed_out"},
			},
		},
		"running": {
			event: "check_run",
			body:  `{"action":"created","check_run":{"name":"build","head_sha":"` + sha + `","status":"in_progress","started_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsideCI, What: "check_run created", Commit: sha, At: at,
				CI: &amp.CIReport{Name: "github/build", State: amp.CheckPending, Said: "in_progress"},
			},
		},
		"check_suite": {
			event: "check_suite",
			body:  `{"action":"completed","check_suite":{"head_sha":"` + sha + `","head_branch":"f","status":"completed","conclusion":"neutral","app":{"slug":"scan"},"updated_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsideCI, What: "check_suite completed", Commit: sha, Branch: "f", At: at,
				CI: &amp.CIReport{Name: "github/suite/scan", State: amp.CheckSkipped, Said: "neutral"},
			},
		},
		"status": {
			event: "status",
			body:  `{"context":"ci/circle","state":"success","sha":"` + sha + `","target_url":"https://x","updated_at":"2026-11-22T07:00:00Z","repository":{"full_name":"a/b"}}`,
			want: amp.Outside{
				Event: amp.OutsideCI, What: "status success", Repo: "a/b", Commit: sha, URL: "https://x", At: at,
				CI: &amp.CIReport{Name: "github/ci/circle", State: amp.CheckPassed, Said: "success"},
			},
		},
		"workflow_run": {
			event: "workflow_run",
			body:  `{"action":"completed","workflow_run":{"name":"CI","head_sha":"` + sha + `","head_branch":"f","status":"completed","conclusion":"cancelled","updated_at":"2026-11-22T07:00:00Z","html_url":"https://x"}}`,
			want: amp.Outside{
				Event: amp.OutsideCI, What: "workflow_run completed", Commit: sha, Branch: "f", URL: "https://x", At: at,
				CI: &amp.CIReport{Name: "github/workflow/CI", State: amp.CheckCanceled, Said: "cancelled"},
			},
		},
		"merged": {
			event: "pull_request",
			body:  `{"action":"closed","repository":{"full_name":"a/b"},"pull_request":{"number":7,"state":"closed","merged":true,"merged_by":{"login":"mira"},"merge_commit_sha":"` + sha + `","head":{"ref":"f","sha":"` + sha + `"},"updated_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsidePull, What: "pull_request closed", Repo: "a/b", Commit: sha, Branch: "f", At: at,
				Pull: &amp.PullState{Repo: "a/b", Number: 7, State: amp.PullMerged, Merge: sha, By: "mira", At: at},
			},
		},
		"review": {
			event: "pull_request_review",
			body:  `{"action":"submitted","repository":{"full_name":"a/b"},"pull_request":{"number":7,"head":{"ref":"f"}},"review":{"state":"CHANGES_REQUESTED","body":"no","user":{"login":"ann"},"commit_id":"` + sha + `","submitted_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsideReview, What: "pull_request_review submitted", Repo: "a/b", Commit: sha, Branch: "f", At: at, Pull: pull(""),
				Remark: &amp.Remark{Author: "ann", Verdict: "changes_requested", Text: "no"},
			},
		},
		"line comment": {
			event: "pull_request_review_comment",
			body:  `{"action":"created","repository":{"full_name":"a/b"},"pull_request":{"number":7,"head":{"ref":"f"}},"comment":{"body":"why","path":"x.go","line":3,"user":{"login":"ann"},"commit_id":"` + sha + `","updated_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsideComment, What: "pull_request_review_comment created", Repo: "a/b", Commit: sha, Branch: "f", At: at, Pull: pull(""),
				Remark: &amp.Remark{Author: "ann", File: "x.go", Line: 3, Text: "why"},
			},
		},
		"comment": {
			event: "issue_comment",
			body:  `{"action":"created","repository":{"full_name":"a/b"},"issue":{"number":7,"pull_request":{"url":"u"}},"comment":{"body":"hm","user":{"login":"ann"},"updated_at":"2026-11-22T07:00:00Z"}}`,
			want: amp.Outside{
				Event: amp.OutsideComment, What: "issue_comment created", Repo: "a/b", At: at, Pull: pull(""), Remark: &amp.Remark{Author: "ann", Text: "hm"},
			},
		},
		"comment on an issue": {event: "issue_comment", body: `{"action":"created","issue":{"number":7},"comment":{"body":"hm"}}`, err: ErrNoEvent.Error()},
		"unknown":             {event: "star", body: `{}`, err: ErrNoEvent.Error()},
		"labelled":            {event: "pull_request", body: `{"action":"labeled","pull_request":{"number":7}}`, err: ErrNoEvent.Error()},
		"no commit":           {event: "status", body: `{"context":"x","state":"success","sha":"../../.."}`, err: "names no commit"},
		"no request":          {event: "pull_request", body: `{"action":"opened","pull_request":{}}`, err: "names no pull request"},
		"garbage":             {event: "status", body: `{"context":`, err: "not what GitHub sends"},
		"empty":               {event: "check_run", body: `null`, err: "not what GitHub sends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decode(x.event, []byte(x.body))
			if x.err != "" {
				if err == nil || !strings.Contains(err.Error(), x.err) {
					t.Fatalf("error %v, want %q", err, x.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(x.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	// The example of GitHub's documentation.
	const secret, body = "It's a Secret to Everybody", "Hello, World!"
	const want = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	if got := Sign([]byte(secret), []byte(body)); got != want {
		t.Errorf("Sign = %s", got)
	}
	if !Signed([]byte(secret), want, []byte(body)) {
		t.Error("the signature is refused")
	}
	for _, x := range [][3]string{{secret, want, body + " "}, {"x", want, body}, {"", Sign(nil, []byte(body)), body}, {secret, "", body}, {secret, want[:70], body}} {
		if Signed([]byte(x[0]), x[1], []byte(x[2])) {
			t.Errorf("%q is taken", x)
		}
	}
}

func TestDecodeReport(t *testing.T) {
	t.Parallel()
	good := `{"id":"1","pipeline":"main","job":"test","commit":"` + sha + `","branch":"f","status":"passed","url":"https://x","at":"2026-11-22T07:00:00Z"}`
	o, problems := DecodeReport([]byte(good))
	want := amp.Outside{
		Event: amp.OutsideCI, Delivery: "1", What: "report", Commit: sha, Branch: "f", URL: "https://x", At: time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC),
		CI: &amp.CIReport{Name: "main/test", State: amp.CheckPassed, Said: "passed"},
	}
	if d := cmp.Diff(want, o); d != "" || len(problems) > 0 {
		t.Error(d, problems)
	}
	for from, to := range map[string]string{
		`"id":"1"`: `"id":""`, `"main"`: `"local"`, `"test"`: `"a/b"`, `"` + sha + `"`: `"HEAD"`, `"passed"`: `"success"`, `"https://x"`: `"javascript:x"`,
		`"branch"`: `"extra"`, `"main",`: `"github",`,
	} {
		if _, problems := DecodeReport([]byte(strings.Replace(good, from, to, 1))); len(problems) != 1 {
			t.Errorf("with %s: %v", to, problems)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("check_run", []byte(`{"action":"completed","check_run":{"name":"build","head_sha":"`+sha+`"}}`))
	f.Add("issue_comment", []byte(`{"action":"created","repository":{"full_name":"a/b"},"issue":{"number":7,"pull_request":{}},"comment":{"body":"\u202e\u001b[2J"}}`))
	f.Add("pull_request", []byte(`{"action":"closed","repository":{"full_name":"a/b"},"pull_request":{"number":7,"merged":true}}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		o, err := Decode(event, body)
		if err != nil {
			if o2, p := DecodeReport(body); len(p) == 0 {
				wellFormed(t, o2)
			}
			return
		}
		wellFormed(t, o)
	})
}

func wellFormed(t *testing.T, o amp.Outside) {
	t.Helper()
	o.Clean()
	if o.CI != nil && (!isCommit(o.Commit) || o.CI.State == "") || o.CI == nil && o.Pull == nil {
		t.Errorf("it is about nothing: %+v", o)
	}
	if o.Remark != nil && (len(o.Remark.Text) > amp.MaxRemark || strings.ContainsAny(o.Remark.Text, "\x1b\u202e")) || len(o.Branch) > amp.MaxOutsideWord {
		t.Errorf("it is not clean: %+v", o)
	}
	e := amp.Entry{Record: amp.Record{Kind: amp.KindOutside, Body: amp.EncodeBody(o)}}
	if _, err := amp.DecodeBody[amp.Outside](&e); err != nil {
		t.Errorf("it does not come back: %v", err)
	}
}

// A check that a branch calls after a workflow or a suite does not speak for it.
func TestDecode_borrowedName(t *testing.T) {
	t.Parallel()
	for event, body := range map[string]string{
		"check_run": `{"action":"completed","check_run":{"name":"workflow/CI","status":"completed","conclusion":"success","head_sha":"` + sha + `"}}`,
		"status":    `{"context":"workflow/CI","state":"success","sha":"` + sha + `"}`,
	} {
		o, err := Decode(event, []byte(body))
		if err != nil || o.CI.Name != "github/check/workflow/CI" {
			t.Errorf("%s: %+v, %v", event, o.CI, err)
		}
	}
	o, err := Decode("workflow_run", []byte(`{"action":"completed","workflow_run":{"name":"CI","status":"completed","conclusion":"failure","head_sha":"`+sha+`"}}`))
	if err != nil || o.CI.Name != "github/workflow/CI" {
		t.Errorf("the workflow itself: %+v, %v", o.CI, err)
	}
}
