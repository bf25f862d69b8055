package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gitconfig "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/google/renameio/v2"
)

// linkProblem says what is wrong with the files that tie the worktree to its repository, "" when they are as git made them. An
// agent that rewrites them could make git obey a repository of its own, with hooks and filters.
func (wt *worktree) linkProblem() string {
	dot := filepath.Join(wt.dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		return "the worktree's .git file is gone"
	case !info.Mode().IsRegular():
		return "the worktree's .git is no longer the file that git made"
	}
	if target, err := readLink(dot); err != nil || target != wt.admin {
		return "the worktree's .git file points somewhere else"
	}
	common, err := readSmall(filepath.Join(wt.admin, "commondir"))
	if err != nil || filepath.Join(wt.admin, common) != wt.r.common {
		return "the commondir file of the worktree points somewhere else"
	}
	return ""
}

// headProblem says why the worktree's HEAD cannot be read, "" when it can.
func (wt *worktree) headProblem() string {
	head, err := readSmall(filepath.Join(wt.admin, "HEAD"))
	if err == nil && (strings.HasPrefix(head, "ref: refs/") || isHex(head) && len(head) >= 40) {
		return ""
	}
	return "the worktree's HEAD cannot be read"
}

// mendHead puts a HEAD that cannot be read on the branch, since git would not take the folder for a worktree otherwise.
func (wt *worktree) mendHead(branch string) {
	if wt.headProblem() == "" {
		return
	}
	wt.g.log.Warn("HEAD of a worktree cannot be read and is set anew", "dir", wt.dir)
	if err := putFile(filepath.Join(wt.admin, "HEAD"), "ref: refs/heads/"+branch); err != nil {
		wt.g.log.Warn("HEAD of a worktree cannot be written", "dir", wt.dir, "err", err)
	}
}

// putFile writes a file of one line in the place of whatever stands there: a link that an agent left leads nowhere else.
func putFile(name, line string) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return renameio.WriteFile(name, []byte(line+"\n"), 0o644)
}

// errNotPlain says that there is no regular file where git has one: a pipe keeps its reader waiting for ever.
var errNotPlain = errors.New("no regular file")

// openPlain opens a regular file for reading, not through a link.
func openPlain(name string) (*os.File, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %w", filepath.Base(name), errNotPlain)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

// execKeys are the parts of a configuration that make git run a program, read more configuration, or overlook changed files. A key is matched by its
// section and, when given, its last part.
var execKeys = map[string][]string{
	"core": {
		"hookspath", "fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "worktree", "attributesfile",
		"alternaterefscommand", "excludesfile", "ignorecase", "trustctime", "checkstat", "filemode", "symlinks", "bare",
	},
	"filter": nil, "alias": nil, "include": nil, "includeif": nil, "credential": nil, "pager": nil, "sequence": nil,
	"merge": {"driver", "tool"}, "mergetool": nil, "difftool": nil, "diff": {"external", "textconv", "command", "tool"}, "gpg": nil,
	"extensions": nil, "uploadpack": nil, "protocol": nil, "remote": {"uploadpack", "receivepack", "vcs", "promisor", "partialclonefilter"},
	"interactive": {"difffilter"}, "submodule": {"update"}, "url": nil, "trailer": nil, "tar": nil, "sparse": nil, "browser": nil, "man": nil,
}

// ownRisk are the sections that our own git obeys in spite of its fixed configuration: with one of them changed no git is run. From a
// remote that is a promisor, git fetches what it misses, by the program and the protocols that are named for it.
var ownRisk = []string{
	"filter", "merge", "include", "includeif", "extensions", "core.attributesfile", "core.worktree", "remote", "protocol", "core.excludesfile",
	"core.ignorecase", "core.trustctime", "core.checkstat", "core.filemode", "core.symlinks", "core.bare", "sparse",
}

// trusted is what a repository lets run: hooks and those parts of its configuration that name programs, as name → fingerprint.
func (wt *worktree) trusted() (map[string]string, error) {
	found := map[string]string{}
	for label, name := range map[string]string{
		"config": filepath.Join(wt.r.common, "config"), "config.worktree": filepath.Join(wt.admin, "config.worktree"),
	} {
		if err := execConfig(name, label, found); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"commondir", "info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"} {
		if err := fingerprint(filepath.Join(wt.r.common, name), name, found); err != nil {
			return nil, err
		}
	}
	hooks, err := os.ReadDir(filepath.Join(wt.r.common, "hooks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the hooks of %s: %w", wt.r.root, err)
	}
	for _, h := range hooks {
		if h.IsDir() || strings.HasSuffix(h.Name(), ".sample") {
			continue
		}
		if err := fingerprint(filepath.Join(wt.r.common, "hooks", h.Name()), "hook "+h.Name(), found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// execConfig adds the keys of a configuration file that name programs. A file that git would not read counts as one key.
func execConfig(name, label string, found map[string]string) error {
	at := name
	if to, err := filepath.EvalSymlinks(name); err == nil {
		at = to
	}
	f, err := openPlain(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, errNotPlain) {
		return fingerprint(name, label+" (not readable)", found)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	cfg := gitconfig.New()
	if err := gitconfig.NewDecoder(io.LimitReader(f, 4<<20)).Decode(cfg); err != nil {
		return fingerprint(name, label+" (not readable)", found)
	}
	add := func(section, sub string, opts gitconfig.Options) {
		section = strings.ToLower(section)
		keys, listed := execKeys[section]
		if !listed {
			return
		}
		for _, o := range opts {
			key := strings.ToLower(o.Key)
			if keys == nil || slices.Contains(keys, key) {
				full := label + ": " + strings.Join(slices.DeleteFunc([]string{section, sub, key}, func(s string) bool { return s == "" }), ".")
				found[full] += sum([]byte(o.Value))
			}
		}
	}
	for _, s := range cfg.Sections {
		add(s.Name, "", s.Options)
		for _, sub := range s.Subsections {
			add(s.Name, sub.Name, sub.Options)
		}
	}
	return nil
}

// fingerprint adds a file's mode and content; a file that is not there adds nothing.
func fingerprint(name, label string, found map[string]string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	var b []byte
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		b = []byte(target)
	}
	if info, err = os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= 8<<20 {
		content, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		b = append(b, content...)
	}
	mode := ""
	if info != nil {
		mode = info.Mode().String()
	}
	found[label] = mode + " " + sum(b)
	return nil
}

func sum(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:8]) + ";"
}

// trustChanges names what differs between two answers of trusted, sorted, and reports whether our own git would obey any of it.
func trustChanges(before, after map[string]string) (names []string, stop bool) {
	all := maps.Clone(after)
	maps.Copy(all, before)
	for name := range all {
		if before[name] == after[name] {
			continue
		}
		names = append(names, name)
		_, key, isKey := strings.Cut(name, ": ")
		stop = stop || name == "commondir" || strings.HasPrefix(name, "info/") || strings.HasPrefix(name, "objects/") || strings.Contains(name, "not readable") ||
			isKey && slices.ContainsFunc(ownRisk, func(risk string) bool { return key == risk || strings.HasPrefix(key, risk+".") })
	}
	slices.Sort(names)
	return names, stop
}
