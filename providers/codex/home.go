package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"
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
		line("model = %s", program.Quote(s.model))
	}
	line("model_provider = \"arbiter\"")
	line("approval_policy = %s", program.Quote(s.approval()))
	line("sandbox_mode = %s", program.Quote(s.sandbox()))
	line("check_for_update_on_startup = false")
	line("web_search = \"disabled\"")
	line("\n[analytics]\nenabled = false")
	line("\n[feedback]\nenabled = false")
	line("\n[shell_environment_policy]\ninherit = \"all\"\nignore_default_excludes = true\nexclude = [%s]", program.Quote(keyVar))
	line("\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nnetwork_access = false")
	line("\n[model_providers.arbiter]\nname = \"arbiter\"\nbase_url = %s\nwire_api = \"responses\"\nenv_key = %s", program.Quote(s.url), program.Quote(keyVar))
	line("request_max_retries = 2\nstream_max_retries = 2")
	b.WriteString(program.CodexServer(s.tools))
	return []byte(b.String())
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
