//go:build linux || darwin

package sandbox

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "7.5": 0, "soon": 0, "99999999999": 0, "2000000000": maxRetry,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2025 00:00:30 GMT": 0, "Thu, 01 Jan 2099 00:00:30 GMT": maxRetry,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", text, got, want)
		}
	}
}
