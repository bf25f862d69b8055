package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/notify"
)

// notifyConfig is where people are told what waits for them while they are not at the screen.
type notifyConfig struct {
	// Mode is "explicit" (what waits, the default), "final" (also how tasks ended) or "verbose" (also each step).
	Mode string `toml:"mode"`
	// Quiet are hours as "22:00-07:00" in which only what is critical is told; the rest is summed up after them.
	Quiet string `toml:"quiet"`
	// Desktop shows notifications on the desktop of who runs the coordinator.
	Desktop  bool               `toml:"desktop"`
	Telegram telegramConfig     `toml:"telegram"`
	Webhook  []notifyHookConfig `toml:"webhook"`
}

// telegramConfig is a bot, the chats that it writes to, and who may decide there.
type telegramConfig struct {
	// KeyEnv is the name of the variable that holds the bot's token, KeyFile a file that holds it, KeyCommand prints it.
	KeyEnv     string   `toml:"key_env"`
	KeyFile    string   `toml:"key_file"`
	KeyCommand []string `toml:"key_command"`
	Chats      []int64  `toml:"chats"`
	// People are who may decide, by their Telegram user id: 42 = "mira".
	People map[string]string `toml:"people"`
	// Destructive is where terminate, unlock and deliver may be given: "local" (the default), or "telegram" too.
	Destructive string `toml:"destructive"`
	// URL is the Bot API's address when it is not Telegram's own.
	URL string `toml:"url"`
}

// notifyHookConfig is one receiver. What signs is named as keys are.
type notifyHookConfig struct {
	Name string `toml:"name"`
	// URL is the address, URLEnv the name of a variable that holds it: some addresses are secrets.
	URL    string `toml:"url"`
	URLEnv string `toml:"url_env"`
	// Format is "json" (the default) or "slack", which sends a text only.
	Format     string   `toml:"format"`
	KeyEnv     string   `toml:"key_env"`
	KeyFile    string   `toml:"key_file"`
	KeyCommand []string `toml:"key_command"`
}

// configured reports whether anything is told anywhere.
func (n *notifyConfig) configured() bool {
	return n.Desktop || n.Telegram.configured() || len(n.Webhook) > 0
}

func (t *telegramConfig) configured() bool {
	return t.keys().keys() > 0 || len(t.Chats) > 0 || len(t.People) > 0 || t.URL != "" || t.Destructive != ""
}

// keys are the places of the token, as those of an agent's key.
func (t *telegramConfig) keys() agentConfig {
	return agentConfig{KeyEnv: t.KeyEnv, KeyFile: t.KeyFile, KeyCommand: t.KeyCommand}
}

func (w *notifyHookConfig) keys() agentConfig {
	return agentConfig{KeyEnv: w.KeyEnv, KeyFile: w.KeyFile, KeyCommand: w.KeyCommand}
}

// quietHours are the hours of "22:00-07:00" as times of day.
func quietHours(s string) (from, to time.Duration, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(s, "-")
	start, err1 := time.Parse("15:04", strings.TrimSpace(a))
	end, err2 := time.Parse("15:04", strings.TrimSpace(b))
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%q are no hours; write them as \"22:00-07:00\"", s)
	}
	midnight := start.Truncate(24 * time.Hour)
	return start.Sub(midnight), end.Sub(midnight), nil
}

func (n *notifyConfig) validate(bad func(string, ...any)) {
	if !slices.Contains([]string{"", "explicit", "final", "verbose"}, n.Mode) {
		bad("notify.mode is %q, want explicit, final or verbose", n.Mode)
	}
	if _, _, err := quietHours(n.Quiet); err != nil {
		bad("notify.quiet: %v", err)
	}
	if n.Telegram.configured() {
		n.Telegram.validate(bad)
	}
	names := map[string]bool{}
	for i := range n.Webhook {
		w := &n.Webhook[i]
		key := fmt.Sprintf("notify.webhook[%d]", i)
		if !agentName.MatchString(w.Name) || names[w.Name] {
			bad("%s.name: each webhook has a name of its own, of letters, digits, dots, dashes and underscores", key)
		}
		names[w.Name] = true
		if (w.URL == "") == (w.URLEnv == "") {
			bad("%s: give url, or url_env when the address is a secret", key)
		}
		if w.URL != "" && !notify.SafeURL(w.URL) {
			bad("%s.url is no https address; http is for this machine only", key)
		}
		if w.URLEnv != "" && !variableName.MatchString(w.URLEnv) {
			bad("%s.url_env is no name of a variable", key)
		}
		if !slices.Contains([]string{"", "json", "slack"}, w.Format) {
			bad("%s.format is %q, want json or slack", key, w.Format)
		}
		w.keys().validateKey(key, false, bad)
	}
}

func (t *telegramConfig) validate(bad func(string, ...any)) {
	t.keys().validateKey("notify.telegram", true, bad)
	if !slices.Contains([]string{"", "local", "telegram"}, t.Destructive) {
		bad("notify.telegram.destructive is %q, want local or telegram", t.Destructive)
	}
	if t.URL != "" && !notify.SafeURL(t.URL) {
		bad("notify.telegram.url is no https address; the token would cross the network in the clear")
	}
	if len(t.Chats) == 0 {
		bad("notify.telegram.chats is empty: nobody would be told anything")
	}
	if slices.Contains(t.Chats, 0) {
		bad("notify.telegram.chats holds 0, which is no chat")
	}
	for _, id := range sortedKeys(t.People) {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || n <= 0 {
			bad("notify.telegram.people: %q is no Telegram user id, which is a number above 0", id)
		}
		if strings.TrimSpace(t.People[id]) == "" {
			bad("notify.telegram.people.%s: say whom the journal is to name", id)
		}
	}
}

// bot is the configured bot, nil without one.
func (t *telegramConfig) bot(configDir string) *notify.Telegram {
	if !t.configured() {
		return nil
	}
	people := map[int64]string{}
	for id, name := range t.People {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			people[n] = name
		}
	}
	return &notify.Telegram{Token: t.keys().key(configDir), URL: t.URL, Chats: t.Chats, People: people, Remote: t.Destructive == "telegram"}
}

// hook is the receiver.
func (w *notifyHookConfig) hook(configDir string) notify.Webhook {
	h := notify.Webhook{Name: w.Name, Secret: w.keys().key(configDir), Slack: w.Format == "slack"}
	h.URL = func() (string, error) { return w.URL, nil }
	if w.URLEnv != "" {
		h.URL = func() (string, error) {
			if url := strings.TrimSpace(os.Getenv(w.URLEnv)); url != "" {
				return url, nil
			}
			return "", errors.New("the variable " + w.URLEnv + " is not set where the coordinator runs: set it, then arbiter down and arbiter up")
		}
	}
	return h
}

// config is what a notifier needs but for what it works on.
func (n *notifyConfig) config(configDir string) notify.Config {
	from, to, err := quietHours(n.Quiet)
	if err != nil { // checked when it was read
		from, to = 0, 0
	}
	c := notify.Config{Mode: notify.Mode(n.Mode), Quiet: notify.Hours{From: from, To: to}, Telegram: n.Telegram.bot(configDir)}
	if n.Desktop {
		c.Desktop = notify.FindDesktop()
	}
	for i := range n.Webhook {
		c.Webhooks = append(c.Webhooks, n.Webhook[i].hook(configDir))
	}
	return c
}
