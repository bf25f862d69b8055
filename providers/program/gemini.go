package program

import (
	"path/filepath"

	"arbiter/providers/sandbox"
)

const geminiSettings = `{
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 3},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}}
}
`

// Gemini is what the program gemini is told in every mode: files below its home, and variables, for a model at url. It takes the settings of the
// system before those of the person and of the repository, but none from a folder that others can write to, as everything below the temp folder
// is; the person's stand in for them then.
func Gemini(home, url string) (files map[string][]byte, env []string) {
	system := filepath.Join(".gemini", "system.json")
	files = map[string][]byte{system: []byte(geminiSettings), filepath.Join(".gemini", "settings.json"): []byte(geminiSettings)}
	return files, []string{
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH=" + filepath.Join(home, system), "GEMINI_CLI_TRUST_WORKSPACE=true",
		"GEMINI_API_KEY=" + sandbox.PlaceholderKey, "GOOGLE_GEMINI_BASE_URL=" + url,
	}
}
