package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"arbiter/amp"
	"arbiter/forge"
)

// ErrElsewhere says that another process writes to the mirror at this moment.
var ErrElsewhere = errors.New("another process writes to the mirror")

const (
	firstWait = 2 * time.Second
	// maxWait bounds the time until an outage is tried again.
	maxWait = 10 * time.Minute
)

// errStale says that the branch stands where it stood before the last commit, which a service of many machines may show for a moment.
var errStale = errors.New("GitHub still shows the branch as it was before the last commit")

// verdict is what an error means.
type verdict struct {
	what, next string
	// wait is how long at least; zero leaves it to the number of tries.
	wait time.Duration
	// person says that only a person can mend it; stopped that trying again is of no use before.
	person, stopped bool
}

// judge says what an error means and what helps.
func (m *Mirror) judge(err error) verdict {
	if x, ok := errors.AsType[*DivergedError](err); ok {
		return verdict{
			what: x.Error(), person: true, stopped: true,
			next: "Look at it with arbiter journal verify --against " + m.cfg.Repo + ". If the journal here is right, write the mirror anew: arbiter mirror push --rebuild",
		}
	}
	if what, wait := forge.Pause(err); wait > 0 {
		return verdict{what: what, wait: wait, next: "It goes on by itself."}
	}
	if x, ok := errors.AsType[*tokenError](err); ok {
		return verdict{what: x.Error(), next: "Mend where [mirror] says the token is; it is read again by itself.", person: true}
	}
	if errors.Is(err, errStale) {
		return verdict{what: err.Error(), next: "It goes on by itself."}
	}
	if errors.Is(err, ErrElsewhere) {
		return verdict{what: err.Error(), next: "It goes on by itself.", wait: firstWait}
	}
	if x, ok := errors.AsType[*forge.RedirectError](err); ok {
		return verdict{what: "what answers at " + m.host() + " wants to be asked at " + x.To + ", which gets no token", next: between, person: true}
	}
	if why, is := nonsense(err); is {
		return verdict{what: "what answers at " + m.host() + " is not the API of GitHub: " + why, next: between}
	}
	if _, ok := errors.AsType[*gh.AcceptedError](err); ok {
		return verdict{what: "GitHub has put off what it was asked for", next: "It goes on by itself."}
	}
	x, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || x.Response == nil {
		return verdict{what: "GitHub cannot be reached: " + forge.Plain(err), next: "It goes on by itself."}
	}
	return m.judgeAnswer(x)
}

// between is what helps when somebody else answers in the place of GitHub.
const between = "It goes on by itself. If it stays, look at mirror.url, and at what stands in between: a proxy, or a network that wants a sign-in."

// host is who is asked.
func (m *Mirror) host() string { return m.remote.client.BaseURL.Host }

func (m *Mirror) judgeAnswer(x *gh.ErrorResponse) verdict {
	said := strings.TrimSpace(fmt.Sprintf("GitHub answered %d %.200s", x.Response.StatusCode, forge.Plain(errors.New(x.Message))))
	switch code := x.Response.StatusCode; {
	case code == http.StatusUnauthorized:
		return verdict{
			what: "GitHub does not accept the token", person: true,
			next: "Put a valid token where [mirror] says it is; it is read again by itself.",
		}
	case code == http.StatusForbidden:
		return m.judgeForbidden(x.Message, said)
	case code == http.StatusNotFound:
		return verdict{
			what: "there is no repository " + m.cfg.Repo + ", or the token does not see it", person: true,
			next: "Create it, private and empty, and give the token access to it.",
		}
	case code == http.StatusUnprocessableEntity, code == http.StatusConflict:
		return m.judgeRefused(x.Message, said)
	case code == http.StatusRequestEntityTooLarge:
		return tooLarge(said)
	case code == http.StatusUnavailableForLegalReasons:
		return verdict{
			what: "GitHub has blocked the repository " + m.cfg.Repo + ": " + said, person: true,
			next: "Ask GitHub why; or mirror into another repository, with mirror.repo.",
		}
	case code >= 300 && code < 400:
		return verdict{
			what: fmt.Sprintf("the repository %s was renamed or moved (GitHub answered %d)", m.cfg.Repo, code), person: true,
			next: "See at GitHub where it is and that it is still yours and private; then give its new name as mirror.repo.",
		}
	case code >= 500:
		return verdict{what: said, next: "It goes on by itself."}
	}
	return verdict{what: said, next: "Look at [mirror] in the configuration.", person: true}
}

// mentions reports whether a message of GitHub has one of the texts, in any case.
func mentions(message string, texts ...string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(message, t) })
}

// judgeForbidden says why the token may not.
func (m *Mirror) judgeForbidden(message, said string) verdict {
	v := verdict{
		what: said, person: true,
		next: "Give the token the permission Contents: read and write for " + m.cfg.Repo + ", and keep branch protection away from " + m.cfg.Branch + ".",
	}
	switch {
	case mentions(message, "archived"):
		v.what, v.next = "the repository "+m.cfg.Repo+" is archived, and takes nothing", "Unarchive it in its settings; it goes on by itself."
	case mentions(message, "saml", "sso"):
		v.what, v.next = "the organization of "+m.cfg.Repo+" wants single sign-on: "+said, "Authorize the token for the organization, where GitHub lists your tokens; it goes on by itself."
	case mentions(message, "ip allow list", "ip address"):
		v.what = "the organization of " + m.cfg.Repo + " has an IP allow list, on which this machine is not"
		v.next = "Let its owner add the address of this machine; it goes on by itself."
	}
	return v
}

// judgeRefused says why what was sent was not taken.
func (m *Mirror) judgeRefused(message, said string) verdict {
	switch {
	case mentions(message, "secret"):
		return verdict{
			what: "GitHub takes something in it for a secret: " + said, person: true,
			next: "See at GitHub what it is. Renew it when it is one; else let it pass there, or turn push protection off for " + m.cfg.Repo + ". It goes on by itself.",
		}
	case mentions(message, "rule violation", "protected branch", "pull request", "verified signature"):
		return verdict{
			what: "a rule of the repository keeps the branch " + m.cfg.Branch + " from being written: " + said, person: true,
			next: "Take the rule away for this branch, or for who the token is of; it goes on by itself.",
		}
	case mentions(message, "too large"):
		return tooLarge(said)
	case mentions(message, "reference does not exist"):
		return verdict{what: "the branch " + m.cfg.Branch + " was deleted meanwhile: " + said, next: "It goes on by itself.", wait: time.Second}
	case mentions(message, "does not exist", "not found"):
		return verdict{what: "GitHub does not have what was sent before: " + said, next: "It goes on by itself.", wait: time.Second}
	case mentions(message, "fast forward", "fast-forward", "already exists", "expected", "conflict", "updated"):
		return verdict{what: "somebody else wrote to the branch at the same time: " + said, next: "It goes on by itself.", wait: time.Second}
	}
	return verdict{what: said, next: "It goes on by itself. If it stays, look at the settings of the repository.", wait: time.Second}
}

func tooLarge(said string) verdict {
	return verdict{what: "what was sent is too large for who answers: " + said, next: "It goes on by itself. If it stays, look for a proxy in between with a small limit.", person: true}
}

// trouble says what is wrong and returns how long to wait: what the service asks for, or longer with each try, and never all at once.
func (m *Mirror) trouble(err error) time.Duration {
	v := m.judge(err)
	wait := v.wait
	if wait < maxWait {
		wait = max(wait, min(maxWait, firstWait<<min(m.tries, 20)))
	}
	if v.stopped {
		wait = maxWait
	}
	m.tries++
	wait += time.Duration(m.cfg.Jitter.Int64N(int64(wait)/4 + 1))
	if errors.Is(err, ErrElsewhere) {
		return wait
	}
	until := time.Now().Add(wait).UTC()
	if c := status(err); c == http.StatusUnprocessableEntity || c == http.StatusNotFound || c == http.StatusConflict {
		m.looked = time.Time{}
	}
	m.cfg.Logger.Warn("the journal is not mirrored", "why", v.what, "again_at", until.Format(time.RFC3339), "next", v.next)
	m.say(func(s *amp.MirrorState) { s.Trouble, s.Next, s.Until, s.Stopped = v.what, v.next, until, v.stopped })
	return wait
}

// tokenError says that there is no token. It does not hold one.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "there is no token for the mirror: " + e.err.Error() }

func (e *tokenError) Unwrap() error { return e.err }

// renew reads the token, and reports whether it is another one.
func (m *Mirror) renew(ctx context.Context) (other bool, err error) {
	if m.cfg.Token == nil {
		return false, nil
	}
	token, err := m.cfg.Token(ctx)
	if err != nil {
		return false, &tokenError{err}
	}
	other = token != m.token
	if other && m.token != "" {
		m.cfg.Logger.Info("the mirror goes on with another token")
	}
	m.token = token
	m.remote.http.SetToken(token)
	return other, nil
}
