package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/providers/brief"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// preset is a known program.
type preset struct {
	program string
	args    []string
	// header carries the key of its model, where that is not Authorization.
	header string
	// mode is the session's mode in which it asks before it acts, where that is not the one that it begins in.
	mode string
	// forgets says that it cannot be trusted to continue a session: each turn begins a new one, with the context in its prompt.
	forgets bool
	// stays says that it does not end with its standard input.
	stays bool
	// settles says that it is told of the server of our tools by its configuration: it would ask before it uses one that a session brings.
	settles bool
	// needsModel says that it cannot choose a model by itself.
	needsModel bool
	settle     func(s *setting) settled
}

// setting is what a program is to be told before a turn.
type setting struct {
	model  string
	url    string // of the model, as the program reaches it
	home   string
	writes bool
	tools  *brief.Server // of the turn, nil without one
}

// settled is how it is told: files below the home, variables, arguments, and what a session brings beside the protocol's own.
type settled struct {
	files map[string][]byte
	env   []string
	args  []string
	meta  object
}

// Programs are the names of the known programs.
func Programs() []string { return slices.Sorted(maps.Keys(presets)) }

// Executable is the name by which PATH finds a known program, "" of any other.
func Executable(preset string) string { return presets[preset].program }

var presets = map[string]preset{
	"opencode": {program: "opencode", args: []string{"acp"}, needsModel: true, settle: opencode},
	// Loading a session within the minute of its creation erases it.
	"gemini":           {program: "gemini", args: []string{"--acp"}, header: "x-goog-api-key", forgets: true, settles: true, settle: gemini},
	"claude-agent-acp": {program: "claude-agent-acp", header: "x-api-key", settle: claude},
	"codex-acp":        {program: "codex-acp", stays: true, settles: true, settle: codex},
	"qwen":             {program: "qwen", args: []string{"--acp"}, mode: "default", settles: true, needsModel: true, settle: qwen},
}

// other is a program that is not known.
func other(args []string) preset {
	return preset{args: args, settle: func(s *setting) settled {
		return settled{env: []string{"ARBITER_MODEL_URL=" + s.url, keyVar + "=" + sandbox.PlaceholderKey}}
	}}
}

// keyVar is where a program finds its key where it may be named freely.
const keyVar = "ARBITER_MODEL_KEY"

// folder holds what we write for programs that are told where to look.
const folder = "acp"

type object = map[string]any

// file is v as JSON.
func file(v any) []byte {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("acp: unreachable: texts and flags have a JSON form: " + err.Error())
	}
	return append(raw, '\n')
}

// opencode reads no configuration of the repository, where an agent could allow itself what it likes.
func opencode(s *setting) settled {
	ask := "deny"
	if s.writes {
		ask = "ask"
	}
	name := "arbiter/" + s.model
	config := object{
		"autoupdate": false, "share": "disabled", "enabled_providers": []string{"arbiter"}, "model": name, "small_model": name,
		"provider": object{"arbiter": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Arbiter", "options": object{"baseURL": s.url, "apiKey": "{env:" + keyVar + "}"},
			"models": object{s.model: object{"name": s.model, "tool_call": true, "limit": object{"context": 128000, "output": 8192}}},
		}},
		"permission": object{"edit": ask, "bash": ask, "webfetch": ask, "websearch": ask, "external_directory": ask},
	}
	name = filepath.Join(folder, "opencode.json")
	return settled{files: map[string][]byte{name: file(config)}, env: []string{
		"OPENCODE_CONFIG=" + filepath.Join(s.home, name), "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_PURE=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", keyVar + "=" + sandbox.PlaceholderKey,
	}}
}

func gemini(s *setting) settled {
	files, env := program.Gemini(s.home, s.url, s.tools)
	set := settled{files: files, env: env, args: []string{"--approval-mode", "default"}}
	if s.model != "" {
		set.args = append(set.args, "-m", s.model)
	}
	return set
}

// claude reads no settings, of the person or of the repository: they could hold hooks and permissions.
func claude(s *setting) settled {
	options := object{"settingSources": []string{}, "strictMcpConfig": true, "promptSuggestions": false}
	if s.tools != nil {
		options["allowedTools"] = s.tools.Names()
	}
	set := settled{meta: object{"claudeCode": object{"options": options}}, env: []string{
		"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=" + sandbox.PlaceholderKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_MAX_RETRIES=3", "ENABLE_TOOL_SEARCH=false",
	}}
	if s.model != "" {
		set.env = append(set.env, "ANTHROPIC_MODEL="+s.model)
	}
	return set
}

// codex wants a folder that is not below the temp folder: it puts programs there.
func codex(s *setting) settled {
	approval, sandboxed := "never", "read-only"
	if s.writes {
		approval, sandboxed = "on-request", "workspace-write"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if s.model != "" {
		line("model = %s", program.Quote(s.model))
	}
	line("model_provider = \"arbiter\"\napproval_policy = %q\nsandbox_mode = %q\ncheck_for_update_on_startup = false", approval, sandboxed)
	line("[analytics]\nenabled = false")
	line("[sandbox_workspace_write]\nexclude_slash_tmp = true\nnetwork_access = false")
	line("[model_providers.arbiter]\nname = \"arbiter\"\nbase_url = %s\nwire_api = \"responses\"\nenv_key = %q", program.Quote(s.url), keyVar)
	b.WriteString(program.CodexServer(s.tools))
	return settled{
		files: map[string][]byte{filepath.Join(folder, "config.toml"): []byte(b.String())},
		env:   []string{"CODEX_HOME=" + filepath.Join(s.home, folder), keyVar + "=" + sandbox.PlaceholderKey},
	}
}

func qwen(s *setting) settled {
	settings := object{
		"general": object{"enableAutoUpdate": false}, "privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"security": object{"auth": object{"selectedType": "openai"}}, "mcpServers": object{},
	}
	if s.tools != nil {
		settings["mcpServers"] = object{brief.ServerName: object{
			"command": s.tools.Command, "args": s.tools.Args, "env": s.tools.Environ(), "timeout": 60_000, "trust": true, "alwaysLoadTools": true,
		}}
	}
	return settled{files: map[string][]byte{filepath.Join(".qwen", "settings.json"): file(settings)}, env: []string{
		"OPENAI_BASE_URL=" + s.url, "OPENAI_API_KEY=" + sandbox.PlaceholderKey, "OPENAI_MODEL=" + s.model,
	}}
}
