package modeltest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/providers/modeltest"
)

// realVar names the folder whose node_modules/.bin holds the real programs.
const realVar = "ARBITER_REAL_AGENTS"

// program is a real program in its plainest mode.
type program struct {
	name  string
	bin   string // below node_modules
	args  []string
	env   map[string]string
	files map[string]string // below the home
	end   string            // what it writes in the end
	// noCut: it gives up when a stream is cut.
	noCut bool
}

// programs are the real ones, {URL} and {HOME} standing for the model and the home folder.
var programs = []program{
	{
		name: "codex", bin: ".bin/codex", end: "All of it is done.",
		args: []string{"exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "-"},
		env:  map[string]string{"CODEX_HOME": "{HOME}/codex", "SCRIPT_KEY": "placeholder"},
		files: map[string]string{"codex/config.toml": `model = "scripted"
model_provider = "local"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "{URL}/some/prefix/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 2
stream_max_retries = 2
`},
	},
	{
		name: "claude", bin: "@anthropic-ai/claude-code-linux-x64/claude", end: "All of it is done.",
		args: []string{"-p", "--output-format", "stream-json", "--verbose", "--model", "scripted", "--permission-mode", "acceptEdits"},
		env: map[string]string{
			"ANTHROPIC_BASE_URL": "{URL}/some/prefix", "ANTHROPIC_API_KEY": "placeholder", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_MAX_RETRIES": "2",
		},
	},
	{
		name: "gemini", bin: ".bin/gemini", end: `"status":"success"`, noCut: true,
		args: []string{"--output-format", "stream-json", "--approval-mode", "auto_edit", "-m", "scripted"},
		env: map[string]string{
			"GEMINI_API_KEY": "placeholder", "GOOGLE_GEMINI_BASE_URL": "{URL}/some/prefix", "GEMINI_CLI_TRUST_WORKSPACE": "true",
		},
		files: map[string]string{".gemini/settings.json": `{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false,` +
			`"maxAttempts":2},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},` +
			`"security":{"auth":{"selectedType":"gemini-api-key"}}}`},
	},
	{
		name: "opencode", bin: "opencode-linux-x64/bin/opencode", end: "All of it is done.",
		args: []string{"run", "--format", "json", "--auto"},
		env: map[string]string{
			"OPENCODE_CONFIG": "{HOME}/opencode.json", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "SCRIPT_KEY": "placeholder",
		},
		files: map[string]string{"opencode.json": `{"autoupdate":false,"share":"disabled","enabled_providers":["local"],"model":"local/m",
"small_model":"local/m","provider":{"local":{"npm":"@ai-sdk/openai-compatible","name":"Local","options":{"baseURL":"{URL}/some/prefix/v1",
"apiKey":"{env:SCRIPT_KEY}"},"models":{"m":{"name":"m","tool_call":true,"limit":{"context":128000,"output":8192}}}}}}`},
	},
}

// TestReal_acceptsTheStreams holds the scripted model against the programs that it stands in for.
func TestReal_acceptsTheStreams(t *testing.T) {
	dir := os.Getenv(realVar)
	if dir == "" {
		t.Skip(realVar + " is not set: the real programs are not run")
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			bin, err := exec.LookPath(filepath.Join(dir, p.bin))
			if err != nil {
				t.Fatalf("the real program is absent: %v", err)
			}
			home, work := t.TempDir(), t.TempDir()
			steps := []modeltest.Step{
				modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"),
				modeltest.Fail(1, 500),
				modeltest.Cut(1, "This is never read to its end."),
				modeltest.Say("All of it is done."),
			}
			want := []int{0, 1, 2, 3}
			if p.noCut {
				steps, want = slices.Delete(steps, 2, 3), want[:3]
			}
			s := modeltest.Start(t, modeltest.Script{Steps: steps})
			fill := strings.NewReplacer("{URL}", s.URL(), "{HOME}", home).Replace
			for name, text := range p.files {
				name = filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(fill(text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, bin, p.args...)
			c.Dir, c.WaitDelay = work, time.Second
			c.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "NO_PROXY=127.0.0.1"}
			for name, value := range p.env {
				c.Env = append(c.Env, name+"="+fill(value))
			}
			c.Stdin = strings.NewReader("Make the file made.txt.")
			out, err := c.CombinedOutput()
			made, fileErr := os.ReadFile(filepath.Join(work, "made.txt"))
			if err != nil || string(made) != "made\n" || !strings.Contains(string(out), p.end) {
				t.Errorf("%v; file %q, %v\n%s", err, made, fileErr, out)
			}
			var played []int
			for _, r := range s.Requests() {
				t.Log(r.Method, r.Path, r.Script, r.Step)
				if r.Step >= 0 && !slices.Contains(played, r.Step) {
					played = append(played, r.Step)
				}
			}
			if !slices.Equal(played, want) {
				t.Errorf("played %v, want %v", played, want)
			}
		})
	}
}
