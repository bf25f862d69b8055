package github_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/ssot/github"
)

// odd answers some requests in the place of the service.
type odd struct {
	base http.RoundTripper

	mu     sync.Mutex
	answer func(r *http.Request) *answer
	leaked []string
}

// answer is what is sent in place of the right answer; with after, the request is carried out first.
type answer struct {
	status int
	header http.Header
	body   string
	after  bool
}

func (o *odd) set(f func(r *http.Request) *answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = f
}

func (o *odd) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	f := o.answer
	if r.URL.Host != "hub.example" || r.URL.Scheme != "http" {
		o.leaked = append(o.leaked, fmt.Sprintf("%s %s, token %q", r.Method, r.URL, r.Header.Get("Authorization")))
	}
	o.mu.Unlock()
	var a *answer
	if f != nil {
		a = f(r)
	}
	if a == nil {
		return o.base.RoundTrip(r)
	}
	if a.after {
		if resp, err := o.base.RoundTrip(r); err == nil {
			resp.Body.Close()
		}
	}
	h := a.header
	if h == nil {
		h = http.Header{"Content-Type": {"text/html"}}
	}
	return &http.Response{StatusCode: a.status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(a.body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

func says(message string) string {
	return fmt.Sprintf(`{"message":%q,"documentation_url":"https://docs.github.com/rest"}`, message)
}

// Whatever comes in the place of an answer, the state says in words what it is and what helps; nothing is believed that was not said, nothing
// is sent elsewhere, and when answers are right again everything is caught up without anybody.
func TestMirror_answers(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><html><title>Sign in</title><body>Welcome to the Wi-Fi of the hotel</body></html>"
	for name, tc := range map[string]struct {
		answer
		trouble, next string
	}{
		"a page":           {answer{status: 200, body: page}, "what answers at hub.example is not the API of GitHub", "mirror.url"},
		"broken":           {answer{status: 200, body: `{"sha":"80`}, "what answers at hub.example is not the API of GitHub", "by itself"},
		"nothing":          {answer{status: 200}, "", "by itself"},
		"null":             {answer{status: 200, body: "null"}, "", "by itself"},
		"empty object":     {answer{status: 200, body: "{}"}, "", "by itself"},
		"a list":           {answer{status: 200, body: "[]"}, "what answers at hub.example is not the API of GitHub", "by itself"},
		"not there":        {answer{status: 404, body: says("Not Found")}, "there is no repository ada/journal, or the token does not see it", "give the token access"},
		"a page, 404":      {answer{status: 404, body: page}, "there is no repository ada/journal", "give the token access"},
		"legal":            {answer{status: 451, body: says("Repository access blocked")}, "GitHub has blocked the repository ada/journal", "GitHub"},
		"gone":             {answer{status: 410, body: says("Gone")}, "410", "mirror"},
		"archived":         {answer{status: 403, body: says("Repository was archived so is read-only.")}, "the repository ada/journal is archived", "Unarchive"},
		"SSO":              {answer{status: 403, body: says("Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.")}, "single sign-on", "Authorize the token"},
		"addresses":        {answer{status: 403, body: says("Although you appear to have the correct authorization credentials, the `ada` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.")}, "IP allow list", "address"},
		"no rights":        {answer{status: 403, body: says("Resource not accessible by personal access token")}, "403", "Contents: read and write"},
		"protected":        {answer{status: 422, body: says("Repository rule violations found\n\nChanges must be made through a pull request.")}, "a rule of the repository", "rule"},
		"protected, 409":   {answer{status: 409, body: says("Repository rule violations found\n\nCommits must have verified signatures.")}, "a rule of the repository", "rule"},
		"protected branch": {answer{status: 422, body: says("Protected branch update failed for refs/heads/main.")}, "a rule of the repository", "rule"},
		"push protection":  {answer{status: 409, body: says("Repository rule violations found\n\nPush cannot contain secrets\n\nSecret detected in content")}, "takes something in it for a secret", "GitHub"},
		"not forward":      {answer{status: 422, body: says("Update is not a fast forward")}, "somebody else wrote to the branch at the same time", "by itself"},
		"no such object":   {answer{status: 422, body: says("Object does not exist")}, "does not have what was sent before", "by itself"},
		"no such branch":   {answer{status: 422, body: says("Reference does not exist")}, "the branch main was deleted", "by itself"},
		"too large":        {answer{status: 422, body: says("Sorry, your input was too large to process. Consider creating the blobs first using the Git Blob API")}, "too large", ""},
		"other rule":       {answer{status: 422, body: says("Validation Failed")}, "422 Validation Failed", "by itself"},
		"too large, 413":   {answer{status: 413, body: page}, "too large", ""},
		"500":              {answer{status: 500, body: page}, "GitHub answered 500", "by itself"},
		"later":            {answer{status: 202, body: "{}"}, "", "by itself"},
		"renamed":          {answer{status: 301, header: http.Header{"Location": {"http://hub.example/repositories/7/x"}}, body: says("Moved Permanently")}, "the repository ada/journal was renamed or moved", "new name"},
		"moved for now":    {answer{status: 307, header: http.Header{"Location": {"http://hub.example/repositories/7/x"}}}, "the repository ada/journal was renamed or moved", "new name"},
		"sent elsewhere":   {answer{status: 302, header: http.Header{"Location": {"http://portal.example/login"}}}, "wants to be asked at http://portal.example", "mirror.url"},
		"sent to plain":    {answer{status: 308, header: http.Header{"Location": {"ftp://hub.example/login"}}}, "wants to be asked at ftp://hub.example", "mirror.url"},
		"nowhere":          {answer{status: 301}, "301", ""},
		"in a circle":      {answer{status: 302, header: http.Header{"Location": {"/again"}}}, "renamed or moved", ""},
	} {
		for which, hit := range map[string]func(r *http.Request) bool{
			"all": func(*http.Request) bool { return true }, "reads": func(r *http.Request) bool { return r.Method == http.MethodGet },
			"writes": func(r *http.Request) bool { return r.Method != http.MethodGet },
			"tree": func(r *http.Request) bool {
				return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git/trees")
			},
			"ref": func(r *http.Request) bool { return r.Method == http.MethodPatch },
		} {
			t.Run(name+"/"+which, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					o := &odd{base: w.hub.Transport()}
					w.cfg.Transport = o
					w.grow(3)
					w.run(func(m *github.Mirror) {
						later(time.Minute)
						w.whole(m)
						w.grow(4)
						o.set(func(r *http.Request) *answer {
							if hit(r) {
								return &tc.answer
							}
							return nil
						})
						later(30 * time.Minute)
						s := m.State()
						if s.Behind != 4 || s.Head.Seq != 3 {
							t.Errorf("it believes that the mirror is at %d, %d behind", s.Head.Seq, s.Behind)
						}
						if s.Trouble == "" || s.Next == "" || s.Stopped || s.Until.IsZero() {
							t.Errorf("it says trouble %q, next %q, stopped %v, until %s", s.Trouble, s.Next, s.Stopped, s.Until)
						}
						if !strings.Contains(s.Trouble, tc.trouble) || !strings.Contains(s.Next, tc.next) {
							t.Errorf("it says %q → %q, want %q → %q", s.Trouble, s.Next, tc.trouble, tc.next)
						}
						if strings.Contains(s.Trouble+s.Next, "token-") || len(s.Trouble) > 400 || strings.ContainsAny(s.Trouble+s.Next, "\n<") {
							t.Errorf("it says %q", s.Trouble)
						}
						o.set(nil)
						later(20 * time.Minute)
						w.whole(m)
					})
					w.compare()
					for _, l := range o.leaked {
						t.Errorf("a request went elsewhere: %s", l)
					}
				})
			})
		}
	}
}
