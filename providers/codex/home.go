package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// keyVar is where the program finds its key, which opens nothing: the real one is put in its place on the way to the model.
const keyVar = "ARBITER_MODEL_KEY"

// settings are what differs between the turns of an agent.
type settings struct {
	model  string
	url    string
	writes bool
	tools  *brief.Server // of the turn, nil without one
}

// The folder of codex and its files, below the turn's home. It must not be below the temp folder: codex puts programs there.
const (
	homeName   = "codex"
	schemaName = "answer-schema.json"
)

// rules are what codex would obey of its own folder besides the configuration: an agent may have left them there.
var rules = []string{"rules", "hooks.json", "hooks", "AGENTS.md", "AGENTS.override.md", "skills", "prompts", "plugins", "managed_config.toml"}

// furnish writes codex's own folder and returns it.
func furnish(turn *providers.Turn, s *settings, schema []byte) (string, error) {
	if root, err := os.OpenRoot(turn.Home); err == nil {
		defer root.Close()
		for _, name := range rules {
			if err := root.RemoveAll(filepath.Join(homeName, name)); err != nil {
				return "", fmt.Errorf("clear the folder of codex: %w", err)
			}
		}
	}
	files := map[string][]byte{filepath.Join(homeName, "config.toml"): s.file()}
	if len(schema) > 0 {
		files[filepath.Join(homeName, schemaName)] = schema
	}
	return filepath.Join(turn.Home, homeName), program.Furnish(turn, files)
}

// file is the text of config.toml. Commands see the environment of the turn, but for the placeholder: its mark is how they are found again.
func (s *settings) file() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if s.model != "" {
		line("model = %s", quote(s.model))
	}
	line("model_provider = \"arbiter\"")
	line("approval_policy = %s", quote(s.approval()))
	line("sandbox_mode = %s", quote(s.sandbox()))
	line("check_for_update_on_startup = false")
	line("web_search = \"disabled\"")
	line("\n[analytics]\nenabled = false")
	line("\n[feedback]\nenabled = false")
	line("\n[shell_environment_policy]\ninherit = \"all\"\nignore_default_excludes = true\nexclude = [%s]", quote(keyVar))
	line("\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nnetwork_access = false")
	line("\n[model_providers.arbiter]\nname = \"arbiter\"\nbase_url = %s\nwire_api = \"responses\"\nenv_key = %s", quote(s.url), quote(keyVar))
	line("request_max_retries = 2\nstream_max_retries = 2")
	if s.tools != nil {
		s.serve(line)
	}
	return []byte(b.String())
}

// serve tells of the server of our tools. It runs outside of codex's own sandbox and asks nobody: what its tools take is a claim. That it can be
// started is not required, since the final text counts without it.
func (s *settings) serve(line func(format string, args ...any)) {
	args := make([]string, 0, len(s.tools.Args))
	for _, a := range s.tools.Args {
		args = append(args, quote(a))
	}
	line("\n[mcp_servers.%s]\ncommand = %s\nargs = [%s]", brief.ServerName, quote(s.tools.Command), strings.Join(args, ", "))
	line("env_vars = [%s]\ndefault_tools_approval_mode = \"approve\"\ntool_timeout_sec = 60", quote(sandbox.Marker))
	line("\n[mcp_servers.%s.env]", brief.ServerName)
	for _, v := range s.tools.Env {
		line("%s = %s", v.Name, quote(v.Value))
	}
}

// approval is codex's policy of asking, sandbox what its commands may do without.
func (s *settings) approval() string {
	if s.writes {
		return "on-request"
	}
	return "never"
}

func (s *settings) sandbox() string {
	if s.writes {
		return "workspace-write"
	}
	return "read-only"
}

// quote writes a TOML string. A JSON string is one, but for the sign of deletion.
func quote(s string) string {
	q, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic("codex: unreachable: valid text has a JSON form: " + err.Error())
	}
	return strings.ReplaceAll(string(q), "\x7f", `\u007f`)
}
