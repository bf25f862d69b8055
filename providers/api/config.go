package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"arbiter/providers"
)

// Dialect is the way in which a service is spoken to.
type Dialect string

// The dialects.
const (
	Claude    Dialect = "claude"
	Gemini    Dialect = "gemini"
	Responses Dialect = "responses"
	Chat      Dialect = "chat"
)

// Enforcement is what a service does about the form of an answer. What it does not, is asked for in the prompt; every answer is checked
// here in any case.
type Enforcement string

// The enforcements.
const (
	JSONSchema Enforcement = "json_schema"
	JSONObject Enforcement = "json_object" // chat completions alone
	NoSchema   Enforcement = "none"
)

// Part is a piece of what the model is to see of a repository: mostly the change of one file.
type Part struct {
	Name string
	Text string
	// Missing says what of it is not in Text, and why; empty when all of it is.
	Missing string
}

// Config describes a model behind an API.
type Config struct {
	// Name is the agent's name in the journal.
	Name    string
	Dialect Dialect
	// URL is the service's address without the path of the call; empty takes the vendor's own, which chat completions have not.
	URL   string
	Model string
	// Key returns the key each time it is needed; nil or an empty one sends none. An error says what the admin is to do, without the key.
	Key func() (string, error)
	// Enforcement is JSONSchema when empty.
	Enforcement Enforcement
	// ContextTokens is what the model reads at once (200,000; Gemini 1,000,000; chat completions 64,000). MaxTokens bounds an answer; 0
	// leaves it to the service, or is 16,000 where the service wants a number.
	ContextTokens int
	MaxTokens     int
	// Requests is the most parts that a change is judged in (24).
	Requests int
	// Material is what the model gets to see of the turn's repository, nil for nothing.
	Material func(ctx context.Context, turn providers.Turn) ([]Part, error)
	// Limits are used where a turn has none. Silence bounds one request.
	Limits providers.Limits
	// Tries is how often a request is made in all (6). Waits begin with a second and double, unless the service names a time; one longer than
	// Patience (2 minutes) ends the turn, which says when to come back.
	Tries    int
	Patience time.Duration
	// Transport carries the requests; nil is the usual one.
	Transport http.RoundTripper
}

// Validate reports all problems at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	d := dialects[c.Dialect]
	if d == nil {
		add("api: %q is none of claude, gemini, responses and chat", c.Dialect)
	}
	if c.Model == "" {
		add("model: no model is named")
	}
	switch c.Enforcement {
	case "", JSONSchema, NoSchema:
	case JSONObject:
		if c.Dialect != Chat {
			add("schema: json_object is a form of chat completions alone")
		}
	default:
		add("schema: %q is none of json_schema, json_object and none", c.Enforcement)
	}
	if err := c.checkURL(); err != nil {
		problems = append(problems, err)
	}
	if c.ContextTokens < 0 || c.MaxTokens < 0 || c.Requests < 0 || c.Tries < 0 || c.Patience < 0 {
		add("limits: a number is negative")
	}
	if c.ContextTokens > 0 && c.MaxTokens >= c.ContextTokens {
		add("max_tokens: %d leave no room in the %d of context_tokens", c.MaxTokens, c.ContextTokens)
	}
	return errors.Join(problems...)
}

func (c *Config) checkURL() error {
	if c.URL == "" {
		if c.Dialect == Chat {
			return errors.New("url: chat completions have no address of their own; name the service's, such as https://api.deepseek.com")
		}
		return nil
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("url: it is no address of the form https://host/path")
	case u.User != nil:
		return errors.New("url: it holds a name or password; give the key by key_env or key_file")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("url: it has a query or a fragment; give the address alone")
	case u.Scheme == "http" && c.Key != nil && !loopback(u.Hostname()):
		return fmt.Errorf("url: the key would travel to %s in the open; use https, or no key", u.Host)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// defaults fills in what is zero.
func (c *Config) defaults() {
	d := dialects[c.Dialect]
	if c.URL == "" {
		c.URL = d.home()
	}
	if c.Enforcement == "" {
		c.Enforcement = JSONSchema
	}
	if c.ContextTokens == 0 {
		c.ContextTokens = map[Dialect]int{Claude: 200_000, Gemini: 1_000_000, Responses: 200_000, Chat: 64_000}[c.Dialect]
	}
	if c.Requests == 0 {
		c.Requests = 24
	}
	if c.Tries == 0 {
		c.Tries = 6
	}
	if c.Patience == 0 {
		c.Patience = 2 * time.Minute
	}
}
