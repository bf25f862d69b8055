package claude

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// maxArgument is the most bytes that one argument may have; Linux allows 128 KiB.
const maxArgument = 120 << 10

// spec is how claude is started for the turn. The prompt follows when it has said that it is there.
func (r *run) spec(url string) sandbox.Spec {
	args := []string{
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio",
		"--setting-sources", "", "--strict-mcp-config",
	}
	if program.ReadsOnly(r.turn) {
		args = append(args, "--permission-mode", "dontAsk", "--tools", "Read,Grep,Glob")
	} else {
		args = append(args, "--permission-mode", "acceptEdits")
	}
	if model := r.agent.config.Model; model != "" {
		args = append(args, "--model", model)
	}
	if r.resume != "" {
		args = append(args, "--resume", r.resume)
	} else {
		args = append(args, "--session-id", uuid.NewString())
	}
	if n := len(r.prompt.Schema); n > 0 && n < maxArgument {
		args = append(args, "--json-schema", string(r.prompt.Schema))
	}
	if n := len(r.prompt.System); n > 0 && n < maxArgument {
		args = append(args, "--append-system-prompt", r.prompt.System)
	}
	if s := brief.ServerOf(r.turn, r.agent.config.Tools); s != nil {
		args = append(args, "--mcp-config", servers(s), "--allowedTools", strings.Join(s.Names(), ","))
	}
	return sandbox.Spec{Argv: args, Talk: true, Env: []string{
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + sandbox.PlaceholderKey, "CLAUDE_CODE_MAX_RETRIES=2",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
	}}
}

// servers is claude's form of the server of our tools, which it is to offer from the beginning and not only to a search.
func servers(s *brief.Server) string {
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{brief.ServerName: map[string]any{
		"type": "stdio", "command": s.Command, "args": s.Args, "env": s.Environ(), "alwaysLoad": true,
	}}}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("claude: unreachable: texts have a JSON form: " + err.Error())
	}
	return string(raw)
}

// words is the prompt; a standing instruction that is too long for an argument comes before it.
func (r *run) words() string {
	if len(r.prompt.System) < maxArgument {
		return r.prompt.Text
	}
	return r.prompt.System + "\n\n" + r.prompt.Text
}

// sessionOf is the session to continue, "" of what no session of claude can be called.
func sessionOf(s string) string {
	id, err := uuid.Parse(s)
	if err != nil {
		return ""
	}
	return id.String()
}
