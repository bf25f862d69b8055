package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
)

// mirrorConfig says where the journal is mirrored to.
type mirrorConfig struct {
	// Repo is owner/name, empty for no mirror. Branch is main when it is empty; URL is where the API of a GitHub Enterprise server answers.
	Repo   string `toml:"repo"`
	Branch string `toml:"branch"`
	URL    string `toml:"url"`
	// TokenEnv is the name of the variable that holds the token, TokenFile a file that holds it, TokenCommand a command that prints it.
	TokenEnv     string   `toml:"token_env"`
	TokenFile    string   `toml:"token_file"`
	TokenCommand []string `toml:"token_command"`
	// Every is how long entries are gathered for one commit.
	Every duration `toml:"every"`
}

var (
	repoName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$`)
	branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}$`)
)

// source is where the token is, in the words of an agent's key.
func (c mirrorConfig) source() agentConfig {
	return agentConfig{KeyEnv: c.TokenEnv, KeyFile: c.TokenFile, KeyCommand: c.TokenCommand}
}

// validate reports every problem. What stands in the place of a token is not repeated: it could be one.
func (c mirrorConfig) validate(agents map[string]agentConfig, bad func(string, ...any)) {
	if c.Repo == "" {
		if c.Branch != "" || c.URL != "" || c.source().keys() > 0 || c.Every != 0 {
			bad("mirror: branch, url, every and the token have no meaning without repo")
		}
		return
	}
	if !repoName.MatchString(c.Repo) {
		bad("mirror.repo is %q, want owner/name", c.Repo)
	}
	if c.Branch != "" && (!branchName.MatchString(c.Branch) || strings.Contains(c.Branch, "..") || strings.HasSuffix(c.Branch, "/")) {
		bad("mirror.branch is %q, which is no branch", c.Branch)
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !loopback(u)) {
		bad("mirror.url is no address as https://github.example.com/api/v3/; only this machine is reached without TLS")
	}
	switch {
	case c.source().keys() == 0:
		bad("mirror needs a token: name the variable that holds it as token_env, a file as token_file, or a command that prints it as token_command")
	case c.source().keys() > 1:
		bad("mirror: token_env, token_file and token_command: give one of them")
	case c.TokenEnv != "" && !variableName.MatchString(c.TokenEnv):
		bad("mirror.token_env is no name of a variable; put the token into a variable of the environment and name that")
	}
	if c.Every != 0 && time.Duration(c.Every) < time.Second {
		bad("mirror.every is %s; a second is the least", time.Duration(c.Every))
	}
	for _, name := range sortedKeys(agents) {
		if c.TokenEnv != "" && slices.Contains(agents[name].Pass, c.TokenEnv) {
			bad("agents.%s.pass holds %s, the token of the mirror, which no agent gets", name, c.TokenEnv)
		}
	}
}

func loopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// mirrorDir is where the mirror of a data directory keeps what it saw.
func mirrorDir(home string) string { return filepath.Join(home, "system") }

// mirror makes the mirror of a journal, nil when none is configured.
func (c *config) mirror(home, configDir string, log ssot.Log, logger *slog.Logger, changed func(amp.MirrorState)) (*github.Mirror, error) {
	if c.Mirror.Repo == "" {
		return nil, nil
	}
	token := c.Mirror.source().key(configDir)
	return github.New(github.Config{
		Log: log, Repo: c.Mirror.Repo, URL: c.Mirror.URL, Branch: c.Mirror.Branch, Every: time.Duration(c.Mirror.Every),
		Token: func(context.Context) (string, error) { return token() }, Secrets: c.secrets(configDir), Dir: mirrorDir(home),
		Version: version(), Logger: logger, Changed: changed,
	})
}

// secretName is how variables with secrets are called.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|credential`)

// askedAgain is how long what a key command printed is known: it may ask a keyring.
const askedAgain = 15 * time.Minute

// secrets returns the secrets that are configured, as they are now. One that cannot be read now is passed over: then no agent has it either.
func (c *config) secrets(configDir string) func() []github.Known {
	outside := c.outsideSecrets(configDir)
	var mu sync.Mutex
	printed, at := map[string]string{}, map[string]time.Time{}
	return func() (all []github.Known) {
		mu.Lock()
		defer mu.Unlock()
		for _, o := range outside {
			if value, err := o.secret(); err == nil {
				all = append(all, github.Known{Name: "the secret of " + o.name, Value: value})
			}
		}
		for _, name := range sortedKeys(c.Agents) {
			g := c.Agents[name]
			add := func(what, value string) {
				if value != "" {
					all = append(all, github.Known{Name: what + " of agent " + name, Value: value})
				}
			}
			if key := g.key(configDir); key != nil {
				if len(g.KeyCommand) == 0 || time.Since(at[name]) > askedAgain {
					printed[name], _ = key()
					at[name] = time.Now()
				}
				add("the key", printed[name])
			}
			for _, v := range sortedKeys(g.Env) {
				if secretName.MatchString(v) {
					add("the variable "+v, g.Env[v])
				}
			}
			for _, v := range g.Pass {
				if secretName.MatchString(v) {
					add("the variable "+v, os.Getenv(v))
				}
			}
		}
		return all
	}
}

// examineMirror says whether the token is there, and how far the mirror is. Nothing is asked of GitHub.
func (a *app) examineMirror(ctx context.Context, home string) []finding {
	c, err := a.loadConfig()
	if err != nil || c.Mirror.Repo == "" {
		return nil
	}
	file, _ := a.configPath()
	if _, err := c.Mirror.source().key(filepath.Dir(file))(); err != nil {
		return []finding{{"mirror", "fail", c.Mirror.Repo + ": " + err.Error(), "Mend it, or correct [mirror] in " + file + "."}}
	}
	kept, err := github.Read(mirrorDir(home))
	switch {
	case err != nil:
		return []finding{{"mirror", "warn", err.Error(), "arbiter mirror push"}}
	case kept == nil || kept.State.Repo != c.Mirror.Repo:
		return []finding{{"mirror", "warn", "nothing is in " + c.Mirror.Repo + " yet", "arbiter up mirrors by itself, arbiter mirror push at once"}}
	}
	s := &kept.State
	level, next := "ok", ""
	if s.Trouble != "" || s.WithheldCount > 0 || s.Public {
		level, next = "warn", s.Next
	}
	if next == "" && s.Public {
		next = publicNext
	}
	if s.Stopped {
		level = "fail"
	}
	if next == "" && s.WithheldCount > 0 {
		next = withheldNext
	}
	if log, _, err := a.openJournal(ctx); err == nil {
		if now, err := lagOf(ctx, *s, log); err == nil {
			s = &now
		}
		_ = log.Close() // it was read only
	}
	return []finding{{"mirror", level, s.Repo + ": " + mirrorText(s, time.Now()), next}}
}

const withheldNext = "Renew what leaked; or, when it is no secret: arbiter mirror allow SEQ"

// mirrorText is how far a mirror is, on one line.
func mirrorText(s *amp.MirrorState, now time.Time) string {
	text := fmt.Sprintf("entry %d", s.Head.Seq)
	switch lag := s.Lag(now); {
	case s.Behind == 0:
		text += ", nothing is missing"
	case lag > 0:
		text += fmt.Sprintf(", %s behind for %s", entriesOf(int(s.Behind)), span(lag))
	default:
		text += fmt.Sprintf(", %s behind", entriesOf(int(s.Behind)))
	}
	if s.Public {
		text += "; PUBLIC: everybody may read it"
	}
	if s.WithheldCount > 0 {
		text += fmt.Sprintf("; %s withheld", entriesOf(s.WithheldCount))
	}
	if s.Trouble != "" {
		text += "; " + s.Trouble
		if s.Until.After(now) && !s.Stopped {
			text += ", again in " + span(s.Until.Sub(now))
		}
	}
	return text
}

// mirrorState is what the mirror of this data directory last said, with the lag as of now; nil when there is none.
func mirrorState(home string, head amp.Head) *amp.MirrorState {
	kept, err := github.Read(mirrorDir(home))
	if err != nil || kept == nil {
		return nil
	}
	s := kept.State
	s.Behind = head.Seq - min(head.Seq, s.Head.Seq)
	return &s
}
