package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/providers"
)

// trouble is a failed try.
type trouble struct {
	failure providers.Failure
	text    string
	// tries is how often the request may be made in all when this comes back; 1 is never again, 0 the configured number.
	tries int
	// wait is what the service asks for.
	wait time.Duration
	// tail is what came instead of an answer.
	tail string
	// tooLarge says that the model does not read so much at once.
	tooLarge bool
}

func (t *trouble) err(format string, args ...any) *providers.TurnError {
	return &providers.TurnError{Failure: t.failure, Text: t.text + fmt.Sprintf(format, args...), Tail: t.tail, Retry: t.wait}
}

// judge says what a status other than 200 means.
func (r *run) judge(status int, header http.Header, body []byte) *trouble {
	e := readError(body)
	said := ""
	if e.Message != "" {
		said = ": " + r.clip(e.Message)
	}
	name := fmt.Sprintf("%s answered %d", r.agent.where, status)
	once := func(f providers.Failure, means string) *trouble {
		return &trouble{failure: f, text: name + said + "; " + means, tries: 1}
	}
	again := func(f providers.Failure, means string) *trouble {
		return &trouble{failure: f, text: name + said + "; " + means, wait: retryAfter(header, &e, time.Now())}
	}
	low := strings.ToLower(e.Message)
	if status >= 400 && status < 500 && tooLarge(status, &e, low) {
		t := once(providers.FailConfig, "the request is too large for the model: lower context_tokens")
		t.tooLarge = true
		return t
	}
	switch {
	case status == http.StatusPaymentRequired, e.has("insufficient_quota", "billing_error", "billing_not_active"),
		status == http.StatusBadRequest && strings.Contains(low, "credit balance"):
		return once(providers.FailQuota, "the account has nothing left: add credit, or name another agent")
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusBadRequest && strings.Contains(low, "api key not valid"): // Gemini's way
		return once(providers.FailAuth, "the key is missing, wrong or without the right: set another one")
	case status == http.StatusTooManyRequests:
		return again(providers.FailRate, "too many requests")
	case status == http.StatusServiceUnavailable, status == 529:
		return again(providers.FailOverloaded, "the service is overloaded")
	case status >= 500 && status != http.StatusNotImplemented:
		return again(providers.FailModel, "the service failed")
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return again(providers.FailTransport, "the service gave up the request")
	case status == http.StatusNotFound:
		return once(providers.FailConfig, fmt.Sprintf("there is no model %s, or the url is wrong: correct one of them", r.agent.config.Model))
	case status >= 300 && status < 400:
		return once(providers.FailConfig, "it sends elsewhere, where the key does not go: name the address itself as url")
	case strings.Contains(low, "response_format") || strings.Contains(low, "schema") || strings.Contains(low, "output_config"):
		return once(providers.FailConfig, "it takes no such schema: set schema to json_object or none")
	}
	return once(providers.FailModel, "the request was refused")
}

// tooLarge reports whether a service says in one of the usual ways that a request does not fit.
func tooLarge(status int, e *serviceError, low string) bool {
	if status == http.StatusRequestEntityTooLarge || e.has("context_length_exceeded", "exceed_context_size_error", "request_too_large") {
		return true
	}
	return slices.ContainsFunc([]string{
		"maximum context length", "prompt is too long", "exceeds the maximum number of tokens", "exceeds the available context size",
		"context length exceeded", "context length of only", "request too large", "input length and `max_tokens` exceed context limit",
	}, func(words string) bool { return strings.Contains(low, words) })
}

// retryAfter is how long the service wants to be left alone, 0 when it does not say.
func retryAfter(h http.Header, e *serviceError, now time.Time) time.Duration {
	const most = 366 * 24 * time.Hour
	seconds := func(text string, unit time.Duration) time.Duration {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(f > 0) {
			return 0
		}
		return time.Duration(min(f*float64(unit), float64(most)))
	}
	if d := seconds(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	if d := seconds(h.Get("Retry-After"), time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	for _, d := range e.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return min(wait, most)
		}
	}
	return 0
}

// accept says why an answer that arrived is no whole one, nil when it is.
func (r *run) accept(a *reply) *trouble {
	switch {
	case a.failed != nil && !a.well:
		t := r.judge(http.StatusInternalServerError, nil, encode(object{"error": a.failed}))
		if a.failed.has("rate_limit_exceeded") {
			t.failure = providers.FailRate
		}
		return t
	case a.refused:
		return &trouble{failure: providers.FailModel, text: fmt.Sprintf("%s would not answer (%s)", r.agent.where, r.clip(a.finish)), tries: 1, tail: r.tail(a.text)}
	case a.well && strings.TrimSpace(a.text) == "":
		return &trouble{failure: providers.FailAnswer, text: r.agent.where + " answered with a blank text", tries: blankTries}
	case !a.well:
		why := fmt.Sprintf("%s stopped in its answer (%s)", r.agent.where, r.clip(first(a.finish, "it did not say why")))
		switch strings.ToLower(a.finish) {
		case "length", "max_tokens", "max_output_tokens":
			why += ": raise max_tokens"
		}
		return &trouble{failure: providers.FailAnswer, text: why, tries: 1, tail: r.tail(a.text)}
	}
	return nil
}

const (
	// blankTries and garbageTries are how often an answer may be blank, or no JSON, before the turn fails.
	blankTries   = 3
	garbageTries = 3
	// maxSaid is how much of a service's text an error repeats, maxTail how much of an answer that is no whole one.
	maxSaid = 300
	maxTail = 8 << 10
)

// clip is a service's text as one line of bounded length, without the key.
func (r *run) clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(r.clean(s), "\uFFFD")), " ")
	if runes := []rune(s); len(runes) > maxSaid {
		s = string(runes[:maxSaid]) + "…"
	}
	return s
}

// tail is the end of an answer.
func (r *run) tail(s string) string {
	s = r.clean(s)
	return strings.ToValidUTF8(s[max(0, len(s)-maxTail):], "\uFFFD")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("api: encode a request: " + err.Error()) // texts and numbers always have a JSON form
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
