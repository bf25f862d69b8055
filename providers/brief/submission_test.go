package brief

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

// TestReadSubmitted: what an agent left in its home is nothing but a claim, and only what could be written by the tools counts.
func TestReadSubmitted(t *testing.T) {
	t.Parallel()
	good := `{"tool":"submit_verdict","payload":{"decision":"approved","criteria_results":[{"criterion":"a","passed":true,"evidence":"e"}],"confidence":0.9}}`
	for name, tc := range map[string]struct {
		file   string
		final  bool
		fails  providers.Failure
		events int
	}{
		"nothing":       {"", false, providers.FailAnswer, 0},
		"a verdict":     {good + "\n", true, "", 0},
		"without end":   {good, true, "", 0},
		"broken behind": {good + "\n{\"tool\":", true, "", 0},
		"another tool":  {`{"tool":"rm","payload":{}}`, false, providers.FailAnswer, 0},
		"bad verdict":   {strings.Replace(good, "0.9", "7", 1), false, providers.FailAnswer, 0},
		"a refusal":     {good + "\n" + `{"tool":"ack","payload":{"status":"refused","reason":"no"}}`, false, providers.FailRefused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := &providers.Turn{Task: "T-2026-001", Role: amp.Reviewer, Home: t.TempDir()}
			file := filepath.Join(turn.Home, submissions)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			var out providers.Outcome
			failed := ReadSubmitted(turn, []string{"arbiter"}, "", &out, func(providers.Event) {})
			if (failed != nil) != (tc.fails != "") || failed != nil && failed.Failure != tc.fails || (len(out.Final) > 0) != tc.final {
				t.Errorf("ReadSubmitted = %s, %v", out.Final, failed)
			}
		})
	}
}

// TestReadSubmitted_link: a link that an agent put in the place of the file is not followed.
func TestReadSubmitted_link(t *testing.T) {
	t.Parallel()
	turn := &providers.Turn{Task: "T-2026-001", Role: amp.Reviewer, Home: t.TempDir()}
	elsewhere := filepath.Join(t.TempDir(), "f")
	s := Submission{Tool: Ask, Payload: json.RawMessage(`{"question":"q"}`)}
	if err := s.Append(elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(turn.Home, ".arbiter"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(turn.Home, submissions)); err != nil {
		t.Fatal(err)
	}
	var out providers.Outcome
	if failed := ReadSubmitted(turn, []string{"arbiter"}, "", &out, func(providers.Event) {}); failed == nil || out.Question != "" {
		t.Errorf("a link was followed: %+v", out)
	}
	if err := ForgetSubmitted(turn); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("what the link led to is gone: %v", err)
	}
}
