package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// teamConfig is what this coordinator is among several that share a database.
type teamConfig struct {
	// Name is how the others call it, empty for the machine's name; a part that is the data directory's own is added.
	Name string `toml:"name"`
	// Lease is how long they wait for it when it does not answer, before they take its tasks; 0 is 30 s.
	Lease duration `toml:"lease"`
	// Work is a folder that they share, for worktrees and what is remembered of turns; empty is the data directory, whose tasks
	// nobody else can go on with while they have a worktree.
	Work string `toml:"work"`
	// Remote is through what tasks go from one machine to another that has a clone of its own: the name of a remote of each repository, or
	// an address; empty: they stay where they began.
	Remote string `toml:"remote"`
	// Repositories says where repositories are on this machine that are elsewhere on others: by their path there, or by its last element.
	Repositories map[string]string `toml:"repositories"`
}

// shortestLease leaves time for a slow database and for agents that take a moment to end.
const shortestLease = time.Second

func (t teamConfig) validate(bad func(string, ...any)) {
	if t.Name != "" && !agentName.MatchString(t.Name) {
		bad("team.name: a name has letters, digits, dots, dashes and underscores only")
	}
	if d := time.Duration(t.Lease); d != 0 && d < shortestLease {
		bad("team.lease is %s; it is at least %s", d, shortestLease)
	}
	if t.Work != "" && !filepath.IsAbs(t.Work) {
		bad("team.work is %q; write it as an absolute path, which is the same on every machine", t.Work)
	}
	if t.Work != "" && t.Remote != "" {
		bad("team.work and team.remote are both set: a shared folder needs no remote, and clones of their own share no folder")
	}
	if strings.HasPrefix(t.Remote, "-") || strings.ContainsAny(t.Remote, " \t\r\n") {
		bad("team.remote is %q; write the name of a remote, such as origin, or an address", t.Remote)
	}
	for _, name := range sortedKeys(t.Repositories) {
		if to := t.Repositories[name]; !filepath.IsAbs(to) {
			bad("team.repositories: %q is at %q; write it as an absolute path on this machine", name, to)
		}
	}
}

// folder is where worktrees stand.
func (t teamConfig) folder(home string) (string, error) {
	if t.Work == "" {
		return home, nil
	}
	if err := os.MkdirAll(t.Work, 0o700); err != nil {
		return "", fmt.Errorf("create team.work: %w", err)
	}
	return t.Work, nil
}

// owner is the name that no other coordinator has, the same whenever the one of this data directory is started.
func (t teamConfig) owner(home string) (string, error) {
	name := t.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "arbiter"
		}
		name, _, _ = strings.Cut(host, ".")
	}
	id, err := homeID(home)
	return name + "-" + id, err
}

// homeID is a name of the data directory, made by chance when it is first asked for.
func homeID(home string) (string, error) {
	file := filepath.Join(home, "system", "id")
	text, err := os.ReadFile(file)
	if err == nil && len(strings.TrimSpace(string(text))) == 8 {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the id of the data directory: %w", err)
	}
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make an id for the data directory: %w", err)
	}
	id := hex.EncodeToString(b[:])
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fmt.Errorf("keep the id of the data directory: %w", err)
	}
	if err := renameio.WriteFile(file, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the id of the data directory: %w", err)
	}
	return id, nil
}

// joinStore writes the address of the database into the configuration, so that every command of this machine uses it.
func (a *app) joinStore(ctx context.Context, url string) error {
	if err := checkDatabase(url); err != nil {
		return usage("--store: %v", err)
	}
	set, err := a.loadStore()
	if err != nil {
		return err
	}
	file, _ := a.configPath()
	if set.URL == url {
		return nil
	}
	set.URL = cmp.Or(set.URL, url)
	log, err := a.readStore(ctx, url, set)
	if _, none := errors.AsType[*notFoundError](err); err != nil && !none { // one that is not there yet is made by the first coordinator
		return err
	}
	if log != nil {
		if err := log.Close(); err != nil {
			return err
		}
	}
	if set.URL != url {
		return usage("the configuration names another store, %s", set.URL).then("Edit store.url in " + file + ".")
	}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration: %w", err)
	}
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += fmt.Sprintf("\n[store]\nurl = %q\n", url)
	if err := decodeTOML(file, []byte(text), &config{}); err != nil {
		return usage("store.url cannot be added to the configuration %s", file).then("Write it there yourself, under [store].")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := renameio.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if !a.json {
		a.complain("arbiter: " + file + " names the store now: " + url)
	}
	return nil
}
