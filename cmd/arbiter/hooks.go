package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/forge"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/events"
)

const (
	githubHook = "/v1/hooks/github"
	ciHook     = "/v1/hooks/ci"
	// maxHook is the most bytes of a webhook that are read.
	maxHook = 2 << 20
	// hookWindow is how old a signature of a CI system may be.
	hookWindow = 5 * time.Minute
	// keptRefusal is how much of what was refused is kept in the error log, refusalEvery how often that is, but for refusalBurst at once.
	keptRefusal  = 4 << 10
	refusalEvery = time.Minute
	refusalBurst = 5
)

// The outcomes of a webhook.
const (
	hookKept      = "kept"
	hookDuplicate = "duplicate"
	hookNoTask    = "no task"
	hookIgnored   = "ignored"
	hookFull      = "full"
	hookForged    = "forged"
	hookRefused   = "refused"
)

// hookAnswer is what the sender of a webhook is told.
type hookAnswer struct {
	Outcome string       `json:"outcome"`
	Tasks   []amp.TaskID `json:"tasks,omitzero"`
}

// hooksDoor takes in what GitHub and CI systems report.
type hooksDoor struct {
	coord  *coordinator.Coordinator
	logger *slog.Logger
	count  func(source, outcome string)
	github func() (string, error)
	ci     []hookFrom
	ledger hookLedger

	mu       sync.Mutex
	refusals float64
	at       time.Time
}

// hookFrom is one CI system with its secret.
type hookFrom struct {
	name   string
	secret func() (string, error)
}

// newHooksDoor joins webhooks to a coordinator. Each secret is read once, so that a missing one is told at once, and again with each
// webhook, so that it can be renewed.
func newHooksDoor(c *config, configDir string, coord *coordinator.Coordinator, count func(source, outcome string), logger *slog.Logger) (*hooksDoor, error) {
	d := &hooksDoor{coord: coord, logger: logger, count: count, github: c.Hooks.github().key(configDir), refusals: refusalBurst, at: time.Now()}
	all := []func() (string, error){d.github}
	for i := range c.Hooks.CI {
		f := hookFrom{name: c.Hooks.CI[i].Name, secret: c.Hooks.CI[i].source().key(configDir)}
		d.ci, all = append(d.ci, f), append(all, f.secret)
	}
	for _, secret := range all {
		if secret == nil {
			continue
		}
		if _, err := secret(); err != nil {
			return nil, &usageError{what: "a secret under [hooks] cannot be read: " + err.Error(), means: "Nothing was started.", next: "Mend it, or take it out of [hooks]."}
		}
	}
	return d, nil
}

// routes are the operations; of nil they are described and cannot be served.
func (d *hooksDoor) routes() []server.Route {
	return []server.Route{
		{
			Method: "POST", Path: githubHook, Access: server.Signed, Tag: "hooks", Summary: "Take in a webhook of GitHub.",
			Text: "Signed with " + forge.SignatureHeader + "; the id in " + forge.DeliveryHeader + " is kept once. What is about the commit, branch or pull request of " +
				"no task is answered 202 and not kept, and so are events that say nothing of one. docs/hooks.md says which are read.",
			Params: []server.Param{
				{In: "header", Name: forge.SignatureHeader, Text: "sha256=HEX, the HMAC-SHA-256 of the body", Required: true},
				{In: "header", Name: forge.EventHeader, Text: "the event, as check_run", Required: true},
				{In: "header", Name: forge.DeliveryHeader, Text: "the id of the delivery", Required: true},
			},
			In: amp.Raw(nil), Out: hookAnswer{}, Answer: d.takeGitHub,
		},
		{
			Method: "POST", Path: ciHook, Access: server.Signed, Tag: "hooks", Summary: "Take in what another CI system reports of a run.",
			Text:   "Signed as our own webhooks are, and not older than five minutes. The same id with the same bytes changes nothing.",
			Params: []server.Param{{In: "header", Name: events.SignatureHeader, Text: "t=UNIX,v1=HEX, the HMAC-SHA-256 of UNIX.BODY", Required: true}},
			In:     forge.Report{}, Out: hookAnswer{}, Answer: d.takeReport,
		},
		d.statesRoute(),
	}
}

// takeGitHub takes in a webhook of GitHub.
func (d *hooksDoor) takeGitHub(r *http.Request) (any, error) {
	if d.github == nil {
		return nil, &server.Error{Code: "not_found", What: "no webhooks of GitHub are configured", Means: "Nothing was kept.", Next: "Name their secret under [hooks]; docs/hooks.md says how."}
	}
	body, err := server.Body(r, maxHook)
	if err != nil {
		return nil, err
	}
	secret, err := d.github()
	if err != nil {
		return nil, d.noSecret("github", err)
	}
	if !forge.Signed([]byte(secret), r.Header.Get(forge.SignatureHeader), body) {
		return nil, d.forged(r.Context(), "github", forge.SignatureHeader, body)
	}
	delivery, event := r.Header.Get(forge.DeliveryHeader), r.Header.Get(forge.EventHeader)
	if !forge.DeliveryID.MatchString(delivery) {
		return nil, d.refuse(r.Context(), "github", body, amp.Problem{Rule: "hook", Field: forge.DeliveryHeader, Message: "is needed: the id of the delivery"})
	}
	o, err := forge.Decode(event, body)
	if errors.Is(err, forge.ErrNoEvent) {
		return d.told("github", hookIgnored, nil), nil
	}
	if err != nil {
		return nil, d.refuse(r.Context(), "github", body, amp.Problem{Rule: "hook", Field: "body", Message: err.Error()})
	}
	o.Delivery = delivery
	return d.hear(r.Context(), "github", o, body)
}

// takeReport takes in a report of a CI system: of that one whose secret signed it.
func (d *hooksDoor) takeReport(r *http.Request) (any, error) {
	if len(d.ci) == 0 {
		return nil, &server.Error{Code: "not_found", What: "no CI system is configured", Means: "Nothing was kept.", Next: "Add [[hooks.ci]] with a name and a secret; docs/hooks.md says how."}
	}
	body, err := server.Body(r, maxHook)
	if err != nil {
		return nil, err
	}
	var broken error
	for _, from := range d.ci {
		secret, err := from.secret()
		if err != nil {
			broken = d.noSecret("ci/"+from.name, err)
			continue
		}
		if events.Verify([]byte(secret), r.Header.Get(events.SignatureHeader), body, time.Now(), hookWindow) != nil {
			continue
		}
		o, problems := forge.DecodeReport(body)
		if len(problems) > 0 {
			return nil, d.refuse(r.Context(), "ci/"+from.name, body, problems...)
		}
		return d.hear(r.Context(), "ci/"+from.name, o, body)
	}
	if broken != nil { // it may be the one that signed
		return nil, broken
	}
	return nil, d.forged(r.Context(), "ci", events.SignatureHeader, body)
}

// hear keeps a report on the tasks that it is about.
func (d *hooksDoor) hear(ctx context.Context, source string, o amp.Outside, body []byte) (any, error) {
	sum := sha256.Sum256(body)
	o.Source, o.Digest = source, hex.EncodeToString(sum[:])
	heard, err := d.coord.Hear(ctx, source, o)
	switch {
	case errors.Is(err, ssot.ErrConflict):
		return nil, d.refuse(ctx, source, body, amp.Problem{Rule: "hook", Field: "id", Message: "stands for another delivery already"})
	case err != nil:
		return nil, err
	case len(heard.Tasks) > 0:
		return d.told(source, hookKept, heard.Tasks), nil
	case heard.Duplicate:
		return d.told(source, hookDuplicate, nil), nil
	case heard.Full:
		return d.told(source, hookFull, nil), nil
	}
	return d.told(source, hookNoTask, nil), nil
}

// told counts an outcome and answers with it: 202 when nothing was kept.
func (d *hooksDoor) told(source, outcome string, tasks []amp.TaskID) any {
	d.note(source, outcome)
	a := hookAnswer{Outcome: outcome, Tasks: tasks}
	if outcome == hookKept || outcome == hookDuplicate {
		return a
	}
	return server.WithStatus{Status: http.StatusAccepted, Value: a}
}

// note counts what became of a webhook.
func (d *hooksDoor) note(source, outcome string, problems ...amp.Problem) {
	d.count(source, outcome)
	d.ledger.note(source, outcome, reasons(problems), time.Now().UTC().Truncate(time.Second))
}

func (d *hooksDoor) noSecret(source string, err error) error {
	d.logger.Error("a webhook could not be checked", "source", source, "err", err)
	return &server.Error{Code: "unavailable", What: "the secret of this webhook cannot be read now", Means: "Nothing was kept.", Next: "Mend it where the coordinator runs, then deliver again."}
}

// forged refuses what nobody with the secret sent. The error log keeps the beginning of some of them.
func (d *hooksDoor) forged(ctx context.Context, source, header string, body []byte) error {
	problem := amp.Problem{Rule: "hook", Field: header, Message: "does not fit the body, or is too old"}
	d.note(source, hookForged, problem)
	d.log(ctx, source, body, problem)
	return &server.Error{
		Code: "unauthorized", What: "the signature does not fit", Means: "Nothing was kept.",
		Next: "Sign the bytes of the body with the secret that is configured here, within five minutes.",
	}
}

// refuse answers that what was signed is not what it should be.
func (d *hooksDoor) refuse(ctx context.Context, source string, body []byte, problems ...amp.Problem) error {
	d.note(source, hookRefused, problems...)
	d.log(ctx, source, body, problems...)
	return &amp.RefusedError{What: "webhook", Problems: problems, Next: "Mend each of the problems."}
}

// log writes a refusal to the error log, unless there were many lately: strangers do not fill the journal.
func (d *hooksDoor) log(ctx context.Context, source string, body []byte, problems ...amp.Problem) {
	if !d.mayLog(time.Now()) {
		return
	}
	err := d.coord.Refuse(ctx, source, amp.Refusal{What: "webhook", Source: "hooks/" + source, Problems: problems, Raw: body[:min(len(body), keptRefusal)]})
	if _, refused := errors.AsType[*amp.RefusedError](err); !refused {
		d.logger.Error("a refused webhook is not in the error log", "source", source, "err", err)
	}
}

func (d *hooksDoor) mayLog(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusals = min(refusalBurst, d.refusals+now.Sub(d.at).Seconds()/refusalEvery.Seconds())
	d.at = now
	if d.refusals < 1 {
		return false
	}
	d.refusals--
	return true
}
