package forge

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// limitWait is the least after a secondary limit that names no time, as GitHub asks for.
const limitWait = time.Minute

// longestPause is how long GitHub is believed to want to be left alone.
const longestPause = 24 * time.Hour

// Pause is how long GitHub asks to be left alone, at most a day, and why; zero when an error is about something else.
func Pause(err error) (why string, wait time.Duration) {
	why, wait = asked(err)
	return why, min(wait, longestPause)
}

func asked(err error) (why string, wait time.Duration) {
	const asks = "GitHub asks for a pause"
	if x, ok := errors.AsType[*gh.RateLimitError](err); ok {
		return "the rate limit of GitHub is used up", max(time.Second, time.Until(x.Rate.Reset.Time))
	}
	if x, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		if x.RetryAfter != nil {
			return asks, max(time.Second, *x.RetryAfter)
		}
		return asks, limitWait
	}
	x, ok := errors.AsType[*gh.ErrorResponse](err)
	if !ok || x.Response == nil {
		return "", 0
	}
	after := x.Response.Header.Get("Retry-After")
	if code := x.Response.StatusCode; code != http.StatusTooManyRequests && (code != http.StatusForbidden || after == "") {
		return "", 0
	}
	if s, err := strconv.Atoi(after); err == nil && s >= 0 && s < math.MaxInt64/int(time.Second) {
		return asks, max(time.Second, time.Duration(s)*time.Second)
	}
	return asks, limitWait
}

// Plain is an error on one line, for a person.
func Plain(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
