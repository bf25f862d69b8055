package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/google/renameio/v2"
)

// Scope is what the bearer of a token may do.
type Scope string

// The scopes. An admin decides, a reader looks, and an agent speaks for one role of the protocol and no other.
const (
	ScopeAdmin       Scope = "admin"
	ScopeReader      Scope = "reader"
	ScopeCoordinator Scope = "coordinator"
	ScopeExecutor    Scope = "executor"
	ScopeReviewer    Scope = "reviewer"
)

// Scopes are all scopes.
func Scopes() []Scope {
	return []Scope{ScopeAdmin, ScopeReader, ScopeCoordinator, ScopeExecutor, ScopeReviewer}
}

// ScopeWords are all scopes in words, for those who are asked for one.
func ScopeWords() string {
	var names []string
	for _, s := range Scopes() {
		names = append(names, string(s))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// role is the role that an agent's scope speaks for, "" for the other scopes.
func (s Scope) role() amp.Role {
	switch s {
	case ScopeCoordinator, ScopeExecutor, ScopeReviewer:
		return amp.Role(s)
	case ScopeAdmin, ScopeReader:
	}
	return ""
}

// Token is what is known of a token; the secret is not.
type Token struct {
	// ID names the token in lists and logs. Name is the person or agent that bears it, and what the journal calls the bearer.
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Scope   Scope     `json:"role"`
	Created time.Time `json:"created"`
	// By is who created it.
	By string `json:"by"`
	// Expires is when it ends; nil is never.
	Expires *time.Time `json:"expires,omitzero"`
}

// Expired reports whether the token's time is over.
func (t *Token) Expired(now time.Time) bool { return t.Expires != nil && !now.Before(*t.Expires) }

// storedToken is a token with the hash of its secret.
type storedToken struct {
	Token
	Hash string `json:"sha256"`
}

// tokenFile is the file of the tokens in the data directory.
const tokenFile = "tokens.json"

// maxTokens bounds the file of the tokens.
const maxTokens = 10000

// tokenName is the form of a bearer's name: it goes into the journal and onto screens.
var tokenName = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$`)

// Tokens are the tokens of a data directory, in a file that only its owner reads. The file holds SHA-256 sums: a secret has 256
// random bits, so there is nothing to guess that a slow hash would have to guard, and no salt is needed. It is safe for concurrent
// use by one process; a change by another one is seen at once.
type Tokens struct {
	path string

	mu   sync.Mutex
	seen os.FileInfo
	all  []storedToken
}

// NewTokens returns the tokens of the data directory home. It reads nothing yet.
func NewTokens(home string) *Tokens { return &Tokens{path: filepath.Join(home, tokenFile)} }

// New creates a token and returns its secret, which nothing can show again.
func (t *Tokens) New(name string, scope Scope, by string, now time.Time, expires *time.Time) (Token, string, error) {
	switch {
	case !tokenName.MatchString(name) || strings.TrimSpace(name) != name:
		return Token{}, "", badRequest("%q is no name: up to 64 letters, digits, blanks, dots, dashes, underscores and @", name)
	case !slices.Contains(Scopes(), scope):
		return Token{}, "", badRequest("role is %q, want %s", scope, ScopeWords())
	case expires != nil && !expires.After(now):
		return Token{}, "", badRequest("the token would have expired already")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return Token{}, "", err
	}
	if len(t.all) >= maxTokens {
		return Token{}, "", badRequest("there are %d tokens; revoke some first", len(t.all))
	}
	id := strings.ToLower(rand.Text()[:8])
	secret := rand.Text() + rand.Text() // 260 random bits
	made := storedToken{Hash: hashOf(secret), Token: Token{
		ID: id, Name: name, Scope: scope, By: by, Created: now.UTC().Truncate(time.Second), Expires: expires,
	}}
	if t.find(id) != nil {
		return Token{}, "", errors.New("create a token: the same id was drawn twice; try again")
	}
	if err := t.save(append(slices.Clone(t.all), made)); err != nil {
		return Token{}, "", err
	}
	return made.Token, tokenPrefix + id + "_" + secret, nil
}

// tokenPrefix begins every secret, so that a scanner of secrets recognises one.
const tokenPrefix = "arbiter_"

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// List returns every token, expired ones too, oldest first.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	out := make([]Token, len(t.all))
	for i := range t.all {
		out[i] = t.all[i].Token
	}
	return out, nil
}

// Revoke ends the token with this id, or every token of the bearer with this name, and returns what it ended. A stream that was
// opened with it ends with its next heartbeat.
func (t *Tokens) Revoke(which string) ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	var ended []Token
	kept := slices.DeleteFunc(slices.Clone(t.all), func(s storedToken) bool {
		gone := s.ID == which || s.Name == which
		if gone {
			ended = append(ended, s.Token)
		}
		return gone
	})
	if len(ended) == 0 {
		return nil, &Error{Code: "not_found", What: fmt.Sprintf("there is no token %q", which), Means: "Nothing was done.", Next: "List them: arbiter token list"}
	}
	return ended, t.save(kept)
}

// Check returns the token that a secret belongs to, nil when there is none or its time is over.
func (t *Tokens) Check(secret string, now time.Time) (*Token, error) {
	rest, _ := strings.CutPrefix(secret, tokenPrefix)
	id, secret, _ := strings.Cut(rest, "_")
	hash := hashOf(secret) // also when there is no such id: the time says nothing
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	s := t.find(id)
	if s == nil || subtle.ConstantTimeCompare([]byte(s.Hash), []byte(hash)) != 1 || s.Expired(now) {
		return nil, nil
	}
	found := s.Token
	return &found, nil
}

// valid reports whether a token that was checked before still is one.
func (t *Tokens) valid(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return false
	}
	s := t.find(id)
	return s != nil && !s.Expired(now)
}

func (t *Tokens) find(id string) *storedToken {
	for i := range t.all {
		if t.all[i].ID == id {
			return &t.all[i]
		}
	}
	return nil
}

// load reads the file when it is another one than before. One that others can read, or that does not parse, opens nothing.
func (t *Tokens) load() error {
	info, err := os.Lstat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.seen, t.all = nil, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	if t.seen != nil && os.SameFile(t.seen, info) && t.seen.ModTime().Equal(info.ModTime()) && t.seen.Size() == info.Size() {
		return nil
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("read the tokens: %s must be a file that only you can read (mode 0600)", t.path)
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	var all []storedToken
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("read the tokens: %s is damaged: %v", t.path, err)
	}
	t.seen, t.all = info, all
	return nil
}

func (t *Tokens) save(all []storedToken) error {
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	if err := renameio.WriteFile(t.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	t.seen = nil // read again what is there now
	return nil
}
