package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/modeltest"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// verdict is what a reviewer answers that was asked well.
const verdict = `{"thought":"t","status":"success","data":{"decision":"approved"},"message":"done"}`

// TestReal runs the real gemini with a scripted model.
func TestReal(t *testing.T) {
	t.Parallel()
	path := agenttest.Path(t, ".bin/gemini")
	for name, tc := range map[string]struct {
		steps []modeltest.Step
		mode  sandbox.Mode
		lost  bool
		fails providers.Failure
	}{
		"works":        {steps: []modeltest.Step{modeltest.Say(verdict)}},
		"caged":        {steps: []modeltest.Step{modeltest.Say(verdict)}, mode: sandbox.Bubblewrap},
		"lost session": {steps: []modeltest.Step{modeltest.Say(verdict)}, lost: true},
		"500 once":     {steps: []modeltest.Step{modeltest.Fail(1, 500), modeltest.Say(verdict)}},
		"only reads":   {steps: []modeltest.Step{modeltest.UseTool("write_file", map[string]string{"file_path": "made.txt", "content": "made"}), modeltest.Say(verdict)}},
		"prose":        {steps: []modeltest.Step{modeltest.Say("It is good.")}, fails: providers.FailAnswer},
		"401":          {steps: []modeltest.Step{modeltest.Fail(0, 401)}, fails: providers.FailAuth},
		"429":          {steps: []modeltest.Step{modeltest.Fail(0, 429)}, fails: providers.FailRate},
		"400":          {steps: []modeltest.Step{modeltest.Fail(0, 400)}, fails: providers.FailModel},
		"cut":          {steps: []modeltest.Step{modeltest.Cut(0, verdict)}, fails: providers.FailTransport},
		"hangs":        {steps: []modeltest.Step{modeltest.Hang()}, fails: providers.FailSilent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tc.mode.Works(); err != nil {
				t.Skipf("NOT TESTED, since %v", err)
			}
			m := modeltest.Start(t, modeltest.Script{Steps: tc.steps})
			a, err := New(Config{program.Config{
				Program: path, Model: "scripted", Env: map[string]string{"NO_PROXY": "127.0.0.1"},
				Leash: sandbox.Leash{Mode: tc.mode, Model: sandbox.Model{URL: m.URL(), Key: func() (string, error) { return "the-real-key", nil }}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			turn := providers.Turn{
				ID: "real-gemini-" + filepath.Base(filepath.Dir(dir)), Task: "T-2026-001", Role: amp.Reviewer, Dir: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"),
				Message: json.RawMessage(`{"type":"review_request","payload":{}}`), Limits: providers.Limits{Silence: time.Minute, Total: 2 * time.Minute, Grace: 2 * time.Second},
			}
			if tc.fails == providers.FailSilent {
				turn.Limits.Silence = 15 * time.Second
			}
			if tc.lost {
				turn.Session = "01a20184-c0da-7030-8f2d-54668f3f78e7"
			}
			if err := os.Mkdir(turn.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := a.Run(t.Context(), turn, func(e providers.Event) { t.Log(e.Type, e.Text) })
			t.Logf("final %s, usage %+v, error %v", out.Final, out.Usage, err)
			if agenttest.ClassOf(err) != tc.fails || (err == nil) != (tc.fails == "") {
				t.Errorf("Run = %v, want class %q", err, tc.fails)
			}
			if _, err := os.Stat(filepath.Join(turn.Dir, "made.txt")); err == nil {
				t.Error("a reviewer wrote a file")
			}
			for _, r := range m.Requests() {
				if r.Header.Get("X-Goog-Api-Key") != "the-real-key" {
					t.Errorf("%s %s came without the key", r.Method, r.Path)
				}
			}
			if tc.fails != "" {
				return
			}
			if out.Tokens == 0 || out.Session == "" || out.Session == turn.Session {
				t.Errorf("outcome = %+v", out)
			}
		})
	}
}
