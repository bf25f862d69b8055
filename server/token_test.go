package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var someDay = time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)

func TestTokens(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	tokens := NewTokens(home)
	soon := someDay.Add(time.Hour)
	made, secret, err := tokens.New("Ada", ScopeAdmin, "mira", someDay, &soon)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(home, tokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info.Mode(), err)
	}
	data, err := os.ReadFile(filepath.Join(home, tokenFile))
	if _, random, _ := strings.Cut(strings.TrimPrefix(secret, tokenPrefix), "_"); err != nil || strings.Contains(string(data), random) {
		t.Errorf("the file holds the secret: %v", err)
	}
	other := NewTokens(home) // another process
	for name, tc := range map[string]struct {
		secret string
		at     time.Time
		want   bool
	}{
		"right":       {secret, someDay, true},
		"at its end":  {secret, soon, false},
		"cut":         {secret[:len(secret)-1], someDay, false},
		"longer":      {secret + "A", someDay, false},
		"lower case":  {strings.ToLower(secret), someDay, false},
		"id only":     {tokenPrefix + made.ID + "_", someDay, false},
		"empty":       {"", someDay, false},
		"its hash":    {tokenPrefix + made.ID + "_" + hashOf(secret), someDay, false},
		"another one": {tokenPrefix + "aaaaaaaa_" + secret[len(tokenPrefix)+9:], someDay, false},
	} {
		got, err := other.Check(tc.secret, tc.at)
		if err != nil || (got != nil) != tc.want {
			t.Errorf("%s: Check = %+v, %v; want one: %v", name, got, err, tc.want)
		}
		if got != nil && (got.Name != "Ada" || got.Scope != ScopeAdmin || got.By != "mira") {
			t.Errorf("%s: Check = %+v", name, got)
		}
	}
	if ended, err := tokens.Revoke("Ada"); err != nil || len(ended) != 1 {
		t.Errorf("Revoke = %v, %v", ended, err)
	}
	if got, err := other.Check(secret, someDay); got != nil || err != nil {
		t.Errorf("after its end in another process: %+v, %v", got, err)
	}
	if _, err := tokens.Revoke("Ada"); err == nil {
		t.Error("a token was revoked twice")
	}
}

func TestTokens_refuses(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	tokens := NewTokens(home)
	past := someDay
	for _, tc := range []struct {
		name    string
		scope   Scope
		expires *time.Time
	}{{"", ScopeAdmin, nil}, {"a\x1b[2J", ScopeAdmin, nil}, {" a", ScopeAdmin, nil}, {"a ", ScopeAdmin, nil}, {strings.Repeat("a", 65), ScopeAdmin, nil}, {"a", "owner", nil}, {"a", ScopeAdmin, &past}} {
		if _, _, err := tokens.New(tc.name, tc.scope, "mira", someDay, tc.expires); err == nil {
			t.Errorf("New(%q, %q, %v) was taken", tc.name, tc.scope, tc.expires)
		}
	}
	_, secret, err := tokens.New("a", ScopeReader, "mira", someDay, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, tokenFile)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if got, err := NewTokens(home).Check(secret, someDay); err == nil || got != nil {
		t.Errorf("a file that others read: %+v, %v", got, err)
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte("[{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := NewTokens(home).Check(secret, someDay); err == nil || got != nil {
		t.Errorf("a damaged file: %+v, %v", got, err)
	}
	if _, _, err := NewTokens(home).New("b", ScopeReader, "mira", someDay, nil); err == nil {
		t.Error("a damaged file was replaced")
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	r := newRates(10, 20)
	now := someDay
	for i := range 20 {
		if ok, _ := r.take("a", 1, now); !ok {
			t.Fatalf("request %d was refused", i)
		}
	}
	ok, after := r.take("a", 1, now)
	if ok || after != 100*time.Millisecond {
		t.Errorf("take = %v, %v; want to wait 100ms", ok, after)
	}
	if ok, _ := r.take("b", 1, now); !ok {
		t.Error("another name was refused")
	}
	if ok, _ := r.take("a", 1, now.Add(after)); !ok {
		t.Error("refused after the wait")
	}
	r.drain("b", 100, now)
	if ok, _ := r.take("b", 1, now.Add(time.Second)); ok {
		t.Error("a name that failed often was let in at once")
	}
	if ok, _ := r.take("b", 1, now.Add(time.Minute)); !ok {
		t.Error("a name that failed is never let in again")
	}
	r.forget(now.Add(time.Hour))
	if len(r.buckets) != 0 {
		t.Errorf("%d buckets are kept", len(r.buckets))
	}
}
