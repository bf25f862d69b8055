package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"arbiter/scratch"
	"arbiter/ssot/github"
)

// cloneName begins the names of the folders in which clones of a mirror are made. What one that was killed left goes with the next one.
const cloneName = "arbiter-mirror"

// withClone opens a clone for f. Of owner/name one is made first, which is removed then.
func (a *app) withClone(ctx context.Context, where string, f func(*github.Clone) error) (err error) {
	dir, branch, done, err := a.cloneOf(ctx, where)
	if err != nil {
		return err
	}
	defer done()
	c, err := github.Open(ctx, dir, branch)
	if err != nil {
		return cloneError(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return f(c)
}

// cloneOf is the folder of a clone. Of owner/name a bare one is made, which done removes.
func (a *app) cloneOf(ctx context.Context, where string) (dir, branch string, done func(), err error) {
	done = func() {}
	if is, err := exists(where); err != nil || is || !repoName.MatchString(where) {
		return where, "", done, err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return "", "", done, err
	}
	m := cfg.Mirror
	if m.Repo != where {
		m = mirrorConfig{Repo: where, URL: m.URL}
	}
	if err := scratch.Sweep("", cloneName); err != nil {
		return "", "", done, err
	}
	dir, removeAll, err := scratch.Make("", cloneName)
	if err != nil {
		return "", "", done, err
	}
	remove := func() { _ = removeAll() } // the next clone removes what stays
	defer func() {
		if err != nil {
			remove()
		}
	}()
	args := []string{"clone", "--quiet", "--bare", "--single-branch"}
	if m.Repo == cfg.Mirror.Repo {
		if branch = m.Branch; branch == "" {
			branch = github.DefaultBranch
		}
		args = append(args, "--branch", branch)
	}
	cmd := exec.CommandContext(ctx, "git", append(args, "--", github.CloneURL(m.URL, where), dir)...)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	file, _ := a.configPath()
	if token := m.source().key(filepath.Dir(file)); token != nil {
		value, err := token()
		if err != nil {
			return "", "", done, err
		}
		// in the environment of git alone: a command line is seen by everybody on the machine
		header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+value))
		// and for this address alone, wherever it redirects to
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0="+header,
			"GIT_CONFIG_KEY_1=http.followRedirects", "GIT_CONFIG_VALUE_1=false")
	}
	out, err := a.cloneWithin(ctx, cmd, dir)
	if large, ok := errors.AsType[*largeError](err); ok {
		return "", "", done, &usageError{
			what:  fmt.Sprintf("%s takes more than %s, which is %s", where, large.size(), large.why),
			means: "The clone was ended there and removed, so that it does not fill the disk. Nothing was compared or stored.",
			next:  "See that it is the mirror. Then name a folder on a larger disk with TMPDIR, or clone it yourself with git and name the folder in its place.",
		}
	}
	if ctx.Err() != nil {
		return "", "", done, ctx.Err()
	}
	if err != nil {
		return "", "", done, &usageError{
			what: fmt.Sprintf("%s cannot be cloned: %s", where, safe(lastLine(string(out), err))), means: "Nothing was compared or stored.",
			next: "Clone it yourself with git, and name the folder in its place.",
		}
	}
	return dir, branch, remove, nil
}

func lastLine(text string, err error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// A clone takes at most half of what is free on its disk, and no more than this. A mirror of a million entries has about a gigabyte.
const maxClone = 64 << 30

// largeError is a clone that was ended for what it took of the disk.
type largeError struct {
	limit uint64
	why   string
}

func (e *largeError) size() string { return fmt.Sprintf("%d MB", e.limit>>20) }

func (e *largeError) Error() string { return "the clone takes more than " + e.size() }

// cloneWithin runs a git that clones into dir, within the bounds of a clone.
func (a *app) cloneWithin(ctx context.Context, cmd *exec.Cmd, dir string) ([]byte, error) {
	free, err := freeBytes(dir)
	if err != nil {
		return nil, err
	}
	large := &largeError{maxClone, "more than a clone may take"}
	if free/2 < large.limit {
		large.limit, large.why = free/2, "half of what is free on the disk of "+filepath.Dir(dir)
	}
	p := a.progress("MB cloned")
	defer p.end()
	return bounded(ctx, cmd, dir, large, p.show)
}

// bounded runs a program that fills a folder, and ends it with all that it started once it took more than it may. It returns what it said.
func bounded(ctx context.Context, cmd *exec.Cmd, dir string, large *largeError, progress func(done, total uint64)) ([]byte, error) {
	said := &lastWords{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it may be gone
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var err error // of the program, once it has ended
	go func() { err = cmd.Wait(); close(ended) }()
	tick := time.NewTicker(cloneLook)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			if err == nil && folderSize(dir) > large.limit {
				err = large
			}
			return said.text, err
		case <-ctx.Done():
			kill()
			<-ended
			return nil, ctx.Err()
		case <-tick.C:
			size := folderSize(dir)
			progress(size>>20, 0)
			if size > large.limit {
				kill()
				<-ended
				return nil, large
			}
		}
	}
}

// lastWords keeps the end of what is written to it: what a server says has no bound.
type lastWords struct{ text []byte }

func (e *lastWords) Write(p []byte) (int, error) {
	e.text = append(e.text, p...)
	if n := len(e.text) - maxWords; n > 0 {
		e.text = append(e.text[:0], e.text[n:]...)
	}
	return len(p), nil
}

const maxWords = 16 << 10

// cloneLook is how often a clone is measured.
const cloneLook = 50 * time.Millisecond

// folderSize is what the files in a folder take. Files that go meanwhile count for nothing.
func folderSize(dir string) (size uint64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += uint64(info.Size())
		}
		return nil
	})
	return size
}
