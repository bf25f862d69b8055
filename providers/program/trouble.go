package program

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"arbiter/providers"
)

// NotStarted is the failure of a program that could not be started.
func NotStarted(ctx context.Context, err error) *providers.TurnError {
	if ctx.Err() != nil {
		return &providers.TurnError{Failure: providers.FailKilled, Text: err.Error()}
	}
	return &providers.TurnError{Failure: providers.FailConfig, Text: err.Error()}
}

// Trouble is a request to a model that failed, as the program behind the agent tells it.
type Trouble struct {
	// Class is what the program names itself, empty when it names none.
	Class providers.Failure
	// Status is the HTTP status, 0 when it is not known. Words are the program's or the service's own, untrusted.
	Status int
	Words  string
}

// Error says what happened, what it means and what to do next.
func (t *Trouble) Error() *providers.TurnError {
	class := t.class()
	words := Short([]byte(t.Words), 500)
	if t.Status != 0 && !strings.Contains(words, strconv.Itoa(t.Status)) {
		words = fmt.Sprintf("%s (status %d)", words, t.Status)
	}
	return &providers.TurnError{Failure: class, Text: fmt.Sprintf(meanings[class], words), Retry: retry(t.Words)}
}

// BadSchema reports whether the service says that it cannot hold a model to the schema of the answer.
func (t *Trouble) BadSchema() bool {
	words := strings.ToLower(t.Words)
	return strings.Contains(words, "schema") && contains(words, "invalid", "not supported", "unsupported")
}

// meanings are the sentences of the classes.
var meanings = map[providers.Failure]string{
	providers.FailAuth:       "the model's service refused the key: %s; check the key and what it may do, then try again",
	providers.FailQuota:      "the account of the model has nothing left: %s; raise its limit or choose another agent, then try again",
	providers.FailRate:       "the model's service takes no more requests for now: %s; the turn is tried again later",
	providers.FailOverloaded: "the model's service cannot serve now: %s; the turn is tried again later",
	providers.FailTransport:  "the connection to the model failed: %s",
	providers.FailModel:      "the model's service failed the request: %s",
	providers.FailConfig:     "the agent cannot work as it is configured: %s",
}

func (t *Trouble) class() providers.Failure {
	words := strings.ToLower(t.Words)
	status := t.Status
	if status == 0 {
		status = statusIn(words)
	}
	quota := contains(words, "quota", "credit balance", "usage limit", "billing", "insufficient_balance", "insufficient balance")
	switch {
	case t.Class != "":
		return t.Class
	case status == 401 || status == 403:
		return providers.FailAuth
	case status == 402 || quota:
		return providers.FailQuota
	case status == 429:
		return providers.FailRate
	case status == 502 || status == 503 || status == 529:
		return providers.FailOverloaded
	case status == 408 || status == 504:
		return providers.FailTransport
	case status >= 400:
		return providers.FailModel
	case contains(words, "api key", "unauthorized", "authentication", "not logged in", "/login"):
		return providers.FailAuth
	case contains(words, "rate limit", "too many requests"):
		return providers.FailRate
	case contains(words, "overloaded", "at capacity"):
		return providers.FailOverloaded
	case contains(words, "stream disconnected", "error sending request", "terminated", "fetch failed", "connection", "timed out", "timeout", "network", "dns", "socket", "econn"):
		return providers.FailTransport
	}
	return providers.FailModel
}

func contains(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

var (
	status  = regexp.MustCompile(`\b(?:status:?|status code|error:?|http) *([45]\d\d)\b|\b([45]\d\d) (?:[a-z]+)`)
	seconds = regexp.MustCompile(`(?i)(?:try again in|retry[ -]after:?|retry in) *(\d{1,7}(?:\.\d{1,6})?) *(ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?)?\b`)
)

// statusIn is the HTTP status that a sentence in small letters names, 0 without one.
func statusIn(words string) int {
	m := status.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2])
	return n
}

// retry is how long a sentence says to wait, at most a week; 0 when it says nothing. A number without a unit counts seconds.
func retry(words string) time.Duration {
	m := seconds.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	unit := time.Second
	switch u := strings.ToLower(m[2]); {
	case strings.HasPrefix(u, "ms"), strings.HasPrefix(u, "milli"):
		unit = time.Millisecond
	case strings.HasPrefix(u, "m"):
		unit = time.Minute
	case strings.HasPrefix(u, "h"):
		unit = time.Hour
	}
	const week = 7 * 24 * time.Hour
	return time.Duration(min(n*float64(unit), float64(week)))
}
