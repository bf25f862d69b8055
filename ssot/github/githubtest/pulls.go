package githubtest

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pull is a pull request of the fake.
type Pull struct {
	Number                        int
	Title, Body, Head, SHA, Base  string
	State, MergedBy, MergeCommit  string
	Updated                       time.Time
	reviews, comments, discussion []object
}

// forgeState is what a repository holds besides its commits.
type forgeState struct {
	pulls    []*Pull
	checks   map[string][]object // by commit
	statuses map[string][]object
	events   int
	hook     func(event, delivery, signature string, body []byte) error
	secret   string
}

// forgeRoutes are the endpoints of pull requests, checks and pushes.
func (s *Server) forgeRoutes() {
	for pattern, f := range map[string]func(*Repository, http.ResponseWriter, *http.Request) error{
		"GET /repos/{owner}/{name}/pulls":                    (*Repository).listPulls,
		"POST /repos/{owner}/{name}/pulls":                   (*Repository).postPull,
		"GET /repos/{owner}/{name}/pulls/{n}":                (*Repository).getPull,
		"GET /repos/{owner}/{name}/pulls/{n}/reviews":        part(func(p *Pull) []object { return p.reviews }),
		"GET /repos/{owner}/{name}/pulls/{n}/comments":       part(func(p *Pull) []object { return p.comments }),
		"GET /repos/{owner}/{name}/issues/{n}/comments":      part(func(p *Pull) []object { return p.discussion }),
		"GET /repos/{owner}/{name}/commits/{sha}/check-runs": (*Repository).getChecks,
		"GET /repos/{owner}/{name}/commits/{sha}/statuses":   (*Repository).getStatuses,
	} {
		s.mux.HandleFunc(pattern, s.found(f))
	}
	s.mux.HandleFunc("POST /{owner}/{file}/git-receive-pack", s.receive)
}

func (r *Repository) pull(n string) (*Pull, error) {
	i := slices.IndexFunc(r.forge.pulls, func(p *Pull) bool { return strconv.Itoa(p.Number) == n })
	if i < 0 {
		return nil, errAbsent
	}
	return r.forge.pulls[i], nil
}

// form is the pull request as GitHub shows it.
func (r *Repository) form(p *Pull) object {
	full := r.Owner + "/" + r.Name
	o := object{
		"number": p.Number, "title": p.Title, "body": p.Body, "state": p.State, "html_url": fmt.Sprintf("https://github.com/%s/pull/%d", full, p.Number),
		"head": object{"ref": p.Head, "sha": p.SHA}, "base": object{"ref": p.Base}, "updated_at": p.Updated.UTC(), "merged": p.MergeCommit != "",
	}
	if p.MergeCommit != "" {
		o["merged_at"], o["merge_commit_sha"], o["merged_by"] = p.Updated.UTC(), p.MergeCommit, object{"login": p.MergedBy}
	}
	return o
}

func (r *Repository) listPulls(w http.ResponseWriter, q *http.Request) error {
	all := []object{}
	_, head, _ := strings.Cut(q.URL.Query().Get("head"), ":")
	for _, p := range slices.Backward(r.forge.pulls) {
		if (head == "" || p.Head == head) && (q.URL.Query().Get("state") == "all" || p.State == "open") {
			all = append(all, r.form(p))
		}
	}
	return answer(w, q, http.StatusOK, all)
}

func (r *Repository) postPull(w http.ResponseWriter, q *http.Request) error {
	var in struct{ Title, Head, Base, Body string }
	if err := take(q, &in); err != nil {
		return err
	}
	sha := r.head(in.Head)
	switch {
	case sha == "" || r.head(in.Base) == "":
		return errors.New("Validation Failed") //nolint:staticcheck // GitHub's words
	case slices.ContainsFunc(r.forge.pulls, func(p *Pull) bool { return p.Head == in.Head && p.Base == in.Base && p.State == "open" }):
		return errors.New("A pull request already exists") //nolint:staticcheck // GitHub's words
	}
	p := &Pull{
		Number: len(r.forge.pulls) + 1, Title: in.Title, Body: in.Body, Head: in.Head, Base: in.Base, SHA: sha, State: "open", Updated: time.Now(),
	}
	r.forge.pulls = append(r.forge.pulls, p)
	return answer(w, q, http.StatusCreated, r.form(p))
}

func (r *Repository) getPull(w http.ResponseWriter, q *http.Request) error {
	p, err := r.pull(q.PathValue("n"))
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusOK, r.form(p))
}

func part(of func(*Pull) []object) func(*Repository, http.ResponseWriter, *http.Request) error {
	return func(r *Repository, w http.ResponseWriter, q *http.Request) error {
		p, err := r.pull(q.PathValue("n"))
		if err != nil {
			return err
		}
		return answer(w, q, http.StatusOK, append([]object{}, of(p)...))
	}
}

func (r *Repository) getChecks(w http.ResponseWriter, q *http.Request) error {
	all := append([]object{}, r.forge.checks[q.PathValue("sha")]...)
	return answer(w, q, http.StatusOK, object{"total_count": len(all), "check_runs": all})
}

func (r *Repository) getStatuses(w http.ResponseWriter, q *http.Request) error {
	return answer(w, q, http.StatusOK, append([]object{}, r.forge.statuses[q.PathValue("sha")]...))
}

// advertise is the first half of a push over HTTP.
func (r *Repository) advertise(w http.ResponseWriter, q *http.Request) {
	out, err := exec.CommandContext(q.Context(), "git", "receive-pack", "--stateless-rpc", "--http-backend-info-refs", r.Dir).Output()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	const service = "# service=git-receive-pack\n"
	w.Header().Set("Content-Type", "application/x-git-receive-pack-advertisement")
	fmt.Fprintf(w, "%04x%s0000%s", len(service)+4, service, out)
}

// receive is the second half. What is pushed is kept as loose objects, which is what the other endpoints read.
func (s *Server) receive(w http.ResponseWriter, q *http.Request) {
	r := s.cloned(q)
	if r == nil {
		http.NotFound(w, q)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	cmd := exec.CommandContext(q.Context(), "git", "-c", "receive.unpackLimit=1000000", "receive-pack", "--stateless-rpc", r.Dir)
	cmd.Stdin, cmd.Stdout = body, w
	if err := cmd.Run(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Pulls are the pull requests, the oldest first.
func (r *Repository) Pulls() []Pull {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Pull
	for _, p := range r.forge.pulls {
		all = append(all, *p)
	}
	return all
}

// Hook lets what happens from now on be told to f, signed with the secret as GitHub signs.
func (r *Repository) Hook(secret string, f func(event, delivery, signature string, body []byte) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forge.secret, r.forge.hook = secret, f
}

// tell makes the webhook of an event; its sender runs outside the lock.
func (r *Repository) tell(event string, body object) func() error {
	hook := r.forge.hook
	if hook == nil {
		return func() error { return nil }
	}
	body["repository"] = object{"full_name": r.Owner + "/" + r.Name}
	data, err := json.Marshal(body)
	h := hmac.New(sha256.New, []byte(r.forge.secret))
	h.Write(data)
	r.forge.events++
	delivery := fmt.Sprintf("d-%s-%d", r.Name, r.forge.events)
	return func() error {
		return errors.Join(err, hook(event, delivery, "sha256="+hex.EncodeToString(h.Sum(nil)), bytes.Clone(data)))
	}
}

// happens runs f under the lock, then sends what it tells.
func (r *Repository) happens(f func() (func() error, error)) error {
	r.mu.Lock()
	send, err := f()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return send()
}

// Check lets a check run on a commit end, or begin when conclusion is empty.
func (r *Repository) Check(sha, name, conclusion string) error {
	return r.happens(func() (func() error, error) {
		run := object{
			"id": len(r.forge.checks[sha]) + 1, "name": name, "head_sha": sha, "status": "in_progress", "started_at": time.Now().UTC(),
			"html_url": "https://github.com/checks/" + name,
		}
		action := "created"
		if conclusion != "" {
			run["status"], run["conclusion"], run["completed_at"], action = "completed", conclusion, time.Now().UTC(), "completed"
		}
		if r.forge.checks == nil {
			r.forge.checks = map[string][]object{}
		}
		r.forge.checks[sha] = append(slices.DeleteFunc(slices.Clone(r.forge.checks[sha]), func(o object) bool { return o["name"] == name }), run)
		return r.tell("check_run", object{"action": action, "check_run": run}), nil
	})
}

// Status sets a commit's status.
func (r *Repository) Status(sha, name, state string) error {
	return r.happens(func() (func() error, error) {
		s := object{"id": len(r.forge.statuses[sha]) + 1, "sha": sha, "context": name, "state": state, "target_url": "https://ci.example/" + name, "updated_at": time.Now().UTC()}
		if r.forge.statuses == nil {
			r.forge.statuses = map[string][]object{}
		}
		r.forge.statuses[sha] = append([]object{s}, r.forge.statuses[sha]...)
		return r.tell("status", s), nil
	})
}

// Review lets somebody review a pull request: APPROVED, CHANGES_REQUESTED or COMMENTED.
func (r *Repository) Review(number int, author, state, body string) error {
	return r.happens(func() (func() error, error) {
		p, err := r.pull(strconv.Itoa(number))
		if err != nil {
			return nil, err
		}
		v := object{
			"id": 100*number + len(p.reviews), "user": object{"login": author}, "state": state, "body": body, "commit_id": p.SHA,
			"submitted_at": time.Now().UTC(), "html_url": "https://github.com/review",
		}
		p.reviews = append(p.reviews, v)
		return r.tell("pull_request_review", object{"action": "submitted", "pull_request": r.form(p), "review": v}), nil
	})
}

// Comment lets somebody comment on a pull request, or on a line when file is not empty.
func (r *Repository) Comment(number int, author, file string, line int, body string) error {
	return r.happens(func() (func() error, error) {
		p, err := r.pull(strconv.Itoa(number))
		if err != nil {
			return nil, err
		}
		c := object{
			"id": 1000*number + len(p.comments) + len(p.discussion), "user": object{"login": author}, "body": body, "updated_at": time.Now().UTC(),
			"html_url": "https://github.com/comment",
		}
		if file == "" {
			p.discussion = append(p.discussion, c)
			return r.tell("issue_comment", object{"action": "created", "issue": object{"number": number, "pull_request": object{"url": "x"}}, "comment": c}), nil
		}
		c["path"], c["line"], c["commit_id"] = file, line, p.SHA
		p.comments = append(p.comments, c)
		return r.tell("pull_request_review_comment", object{"action": "created", "pull_request": r.form(p), "comment": c}), nil
	})
}

// Merge merges a pull request as somebody, or closes it when by is empty.
func (r *Repository) Merge(number int, by string) error {
	return r.happens(func() (func() error, error) {
		p, err := r.pull(strconv.Itoa(number))
		if err != nil {
			return nil, err
		}
		p.State, p.Updated = "closed", time.Now()
		if by != "" {
			p.MergedBy, p.MergeCommit = by, p.SHA
			if err := r.setHead(p.Base, p.SHA); err != nil {
				return nil, err
			}
		}
		return r.tell("pull_request", object{"action": "closed", "pull_request": r.form(p)}), nil
	})
}
