package program

import (
	"strings"
	"testing"
	"time"

	"arbiter/providers"
)

func TestTrouble(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]struct {
		status int
		class  providers.Failure
		retry  time.Duration
	}{
		"unexpected status 401 Unauthorized: Unauthorized, url: http://127.0.0.1:1/v1/responses": {class: providers.FailAuth},
		"exceeded retry limit, last status: 429 Too Many Requests":                               {class: providers.FailRate},
		"API Error: 529 overloaded_error":                                                        {class: providers.FailOverloaded},
		"Quota exceeded. Check your plan and billing details.":                                   {class: providers.FailQuota},
		"Your credit balance is too low":                                                         {status: 400, class: providers.FailQuota},
		"stream disconnected before completion: error decoding response body":                    {class: providers.FailTransport},
		"Rate limit reached. Please try again in 1.5s.":                                          {class: providers.FailRate, retry: 1500 * time.Millisecond},
		"too many requests, retry after 20 minutes":                                              {class: providers.FailRate, retry: 20 * time.Minute},
		"slow down; try again in 250ms":                                                          {status: 429, class: providers.FailRate, retry: 250 * time.Millisecond},
		"try again in 9999999 hours":                                                             {status: 429, class: providers.FailRate, retry: 7 * 24 * time.Hour},
		"Invalid API key · Please run /login":                                                    {class: providers.FailAuth},
		"it broke":                                                                               {class: providers.FailModel},
		"":                                                                                       {status: 500, class: providers.FailModel},
		"no":                                                                                     {status: 403, class: providers.FailAuth},
		"gone":                                                                                   {status: 503, class: providers.FailOverloaded},
		"late":                                                                                   {status: 504, class: providers.FailTransport},
	} {
		got := (&Trouble{Status: want.status, Words: words}).Error()
		if got.Failure != want.class || got.Retry != want.retry || !strings.Contains(got.Text, words) {
			t.Errorf("%q, status %d = %s, retry %s: %s", words, want.status, got.Failure, got.Retry, got.Text)
		}
	}
	if got := (&Trouble{Class: providers.FailQuota, Status: 429, Words: "x"}).Error(); got.Failure != providers.FailQuota || !strings.Contains(got.Text, "429") {
		t.Errorf("a class of the program's own = %+v", got)
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{0: "exit code 0", 3: "exit code 3", 143: "exit code 143 (signal 15)", 255: "exit code 255"} {
		if got := Exit(&code); got != want {
			t.Errorf("Exit(%d) = %q, want %q", code, got, want)
		}
	}
	if got := Exit(nil); got != "no exit code" {
		t.Errorf("Exit(nil) = %q", got)
	}
}
