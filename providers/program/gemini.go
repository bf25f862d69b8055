package program

import (
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/providers/brief"
	"arbiter/providers/sandbox"
)

type object = map[string]any

// Gemini is what the program gemini is told in every mode: files below its home, and variables, for a model at url. tools is
// the server of our tools, nil for none; what is configured like this needs no permission. It takes the settings of the
// system before those of the person and of the repository, but none from a folder that others can write to, as everything below the temp folder
// is; the person's stand in for them then.
func Gemini(home, url string, tools *brief.Server) (files map[string][]byte, env []string) {
	servers := object{}
	if tools != nil {
		servers[brief.ServerName] = object{
			"command": tools.Command, "args": tools.Args, "env": tools.Environ(), "timeout": 60_000, "trust": true, "includeTools": tools.Tools,
		}
	}
	settings, err := json.Marshal(object{
		"general": object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 3},
		"privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "mcpServers": servers,
	}, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		panic("program: unreachable: texts and flags have a JSON form: " + err.Error())
	}
	system := filepath.Join(".gemini", "system.json")
	files = map[string][]byte{system: settings, filepath.Join(".gemini", "settings.json"): settings}
	return files, []string{
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH=" + filepath.Join(home, system), "GEMINI_CLI_TRUST_WORKSPACE=true",
		"GEMINI_API_KEY=" + sandbox.PlaceholderKey, "GOOGLE_GEMINI_BASE_URL=" + url,
	}
}
