package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"arbiter/ssot/events"
)

// eventsConfig is where events go by themselves; the API has them in any case.
type eventsConfig struct {
	Webhooks []webhookConfig `toml:"webhooks"`
}

// webhookConfig is one receiver.
type webhookConfig struct {
	Name string `toml:"name"`
	URL  string `toml:"url"`
	// SecretEnv is the name of the variable that holds the secret of the signature, SecretFile a file that holds it.
	SecretEnv  string `toml:"secret_env"`
	SecretFile string `toml:"secret_file"`
	// Types are types of events, or domains as "task.*"; empty is all. Batch is how many events one request may carry.
	Types []string `toml:"types"`
	Batch int      `toml:"batch"`
}

func (c eventsConfig) validate(bad func(string, ...any)) {
	seen := map[string]bool{}
	for i, w := range c.Webhooks {
		key := fmt.Sprintf("events.webhooks[%d]", i)
		if !agentName.MatchString(w.Name) || seen[w.Name] {
			bad("%s.name: each webhook has a name of its own, of letters, digits, dots, dashes and underscores", key)
		}
		seen[w.Name] = true
		if u, err := url.Parse(w.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			bad("%s.url is no http or https address", key)
		}
		if w.SecretEnv != "" && w.SecretFile != "" {
			bad("%s: secret_env and secret_file are two places for one secret", key)
		}
		for _, t := range w.Types {
			if !events.Pattern(t) {
				bad("%s.types: %q is no type of event; arbiter events types lists them", key, t)
			}
		}
		if w.Batch < 0 || w.Batch > events.MaxBatch {
			bad("%s.batch is not between 0 and %d", key, events.MaxBatch)
		}
	}
}

// hooks are the configured webhooks with their secrets.
func (c eventsConfig) hooks(configDir string) ([]events.Webhook, error) {
	var out []events.Webhook
	for _, w := range c.Webhooks {
		h := events.Webhook{Name: w.Name, URL: w.URL, Types: w.Types, Batch: w.Batch}
		switch {
		case w.SecretEnv != "":
			h.Secret = []byte(os.Getenv(w.SecretEnv))
			if len(h.Secret) == 0 {
				return nil, usage("the variable %s, the secret of the webhook %s, is not set", w.SecretEnv, w.Name).then("export " + w.SecretEnv + "=…")
			}
		case w.SecretFile != "":
			file := w.SecretFile
			if !filepath.IsAbs(file) {
				file = filepath.Join(configDir, file)
			}
			data, err := readAtMost(file, maxTokenFile)
			if err != nil {
				return nil, err
			}
			if h.Secret = []byte(strings.TrimSpace(string(data))); len(h.Secret) == 0 {
				return nil, usage("%s, the secret of the webhook %s, is empty", file, w.Name).then("Write a secret into it.")
			}
		}
		out = append(out, h)
	}
	return out, nil
}
