package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// errNoRemote says that a repository has no remote of the name.
var errNoRemote = errors.New("there is no such remote")

// movedRemoteError says that a remote is somewhere else than it was when it was first used.
type movedRemoteError struct {
	name, root, now, was, note string
}

// Error says what a person does about it.
func (e *movedRemoteError) Error() string {
	return fmt.Sprintf("remote %s leads elsewhere than at its first use, to %.100q, not %.100q, and is not followed; if you moved it, remove %s; "+
		"if not, put it back in %s and find out who did", e.name, e.now, e.was, e.note, e.root)
}

// address is where a remote of the repository is: name itself when it is an address, else what the repository's configuration says. An
// agent that is not confined can write there, so where it led at its first use is noted outside of the repository, and one that leads
// elsewhere by now is not followed, also by a later process, until a person removes the note.
func (r *repo) address(ctx context.Context, name string, push bool) (string, error) {
	if strings.ContainsAny(name, ":/") {
		return r.absolute(name), nil
	}
	args := []string{"remote", "get-url"}
	if push {
		args = append(args, "--push")
	}
	out, err := r.git(ctx, append(args, "--", name)...)
	if exited(err, 2) || exited(err, 128) {
		return "", fmt.Errorf("%w: %s has none that is called %s", errNoRemote, r.root, name)
	}
	if err != nil {
		return "", err
	}
	url, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	url = r.absolute(url)
	return url, r.pinned(name, url, push)
}

// absolute is an address that is the same wherever git runs.
func (r *repo) absolute(url string) string {
	if strings.Contains(url, ":") || filepath.IsAbs(url) {
		return url
	}
	return filepath.Join(r.root, url)
}

// pins are the addresses of a repository's remotes at their first use, by "fetch" or "push" and the remote's name. They hold no passwords.
type pins struct {
	Repository string            `json:"repository"`
	Fetch      map[string]string `json:"fetch"`
	Push       map[string]string `json:"push"`
}

// pinFile is where the addresses of a repository's remotes are noted.
func (r *repo) pinFile() string {
	sum := sha256.Sum256([]byte(r.common))
	return filepath.Join(r.g.home, "remotes", hex.EncodeToString(sum[:8])+".json")
}

// pinned notes where a remote leads when that is not known yet, and is a [*movedRemoteError] when it is another place than the noted one.
func (r *repo) pinned(name, url string, push bool) error {
	r.pins.Lock()
	defer r.pins.Unlock()
	file := r.pinFile()
	p := pins{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read where remotes of %s led; look at %s and remove it: %w", r.root, file, err)
	}
	of := &p.Fetch
	if push {
		of = &p.Push
	}
	url = urlPassword.ReplaceAllString(url, "://") // another password is no other place
	if was, known := (*of)[name]; known {
		if was == url {
			return nil
		}
		return &movedRemoteError{name: name, root: r.root, now: url, was: was, note: file}
	}
	if *of == nil {
		*of = map[string]string{}
	}
	(*of)[name], p.Repository = url, r.root
	if b, err = json.MarshalIndent(p, "", "  "); err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(file, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note where remote %s of %s leads: %w", name, r.root, err)
	}
	return nil
}
