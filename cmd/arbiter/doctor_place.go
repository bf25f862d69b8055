package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/server"
	"arbiter/ssot"
)

// examineRepository looks at the repository of this folder, in which a wish would be carried out.
func examineRepository(ctx context.Context, git *gitops.Git) []finding {
	top, err := repoTop(".")
	if err != nil {
		return []finding{{"repository", "warn", err.Error(), "Change to a folder that is there."}}
	}
	there, _ := exists(filepath.Join(top, ".git"))
	if head, _ := exists(filepath.Join(top, "HEAD")); !there && !head { // a bare one has no .git
		return []finding{{"repository", "ok", "this folder is in none; arbiter task new --repo DIR names one", ""}}
	}
	if _, err := git.Inspect(ctx, top, ""); err != nil {
		return []finding{{"repository", "warn", err.Error(), "Work in another one, or mend this one: no task can begin here."}}
	}
	all := []finding{{"repository", "ok", top, ""}}
	if shallow, err := git.Shallow(top); err == nil && shallow {
		all[0] = finding{
			"repository", "warn", top + " is a shallow clone: tasks work, but arbiter why knows nothing of the commits that are missing",
			"git fetch --unshallow",
		}
	}
	if there, _ := exists(filepath.Join(top, repoFile)); there {
		if _, err := loadRepoFile(top); err != nil {
			e := explain(err)
			return append(all, finding{repoFile, "fail", e.What, e.Next})
		}
		all = append(all, finding{repoFile, "ok", filepath.Join(top, repoFile), ""})
	}
	return all
}

// checkedHere reports whether the repository of this folder names checks of its own.
func checkedHere() bool {
	top, err := repoTop(".")
	if err != nil {
		return false
	}
	own, err := loadRepoFile(top)
	return err == nil && len(own.Repo.Checks) > 0
}

// examineSecrets says which secrets that are shared with systems outside cannot be read.
func (c *config) examineSecrets(configDir, file string) (all []finding) {
	for _, s := range c.outsideSecrets(configDir) {
		if _, err := s.secret(); err != nil {
			all = append(all, finding{"secret", "fail", s.name + ": " + err.Error(), "Set it, or correct where " + file + " says that it is."})
		}
	}
	if _, err := c.Events.hooks(configDir); err != nil {
		e := explain(err)
		all = append(all, finding{"events", "fail", e.What, e.Next})
	}
	return all
}

// examineListen tries the configured address, unless a coordinator has it already.
func (c *config) examineListen(ctx context.Context, home, configDir string) []finding {
	if c.Listen.TCP == "" {
		return nil
	}
	if state, err := hail(ctx, server.NewClient(home, sentinels), home, answerTime); err == nil && state.Listen != "" {
		return []finding{{"listen", "ok", "the coordinator listens on " + state.Listen, ""}}
	}
	l, _, err := c.Listen.open(ctx, configDir)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		e := explain(err)
		return []finding{{"listen", "fail", e.What, e.Next}}
	}
	return []finding{{"listen", "ok", c.Listen.TCP, ""}}
}

// clockSlack is how far clocks of one team may differ before a person is told.
const clockSlack = 2 * time.Minute

// examineClock compares the clock with the newest entry of a journal.
func examineClock(ctx context.Context, log ssot.Log, now time.Time) []finding {
	newest, err := log.Read(ctx, amp.Filter{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 || newest[0].At.Sub(now) < clockSlack {
		return nil // what is wrong with reading has a line of its own
	}
	return []finding{{
		"clock", "warn", "the newest entry was written " + span(newest[0].At.Sub(now)) + " later than now: this machine's clock is behind, or was ahead then",
		"Set the clock; deadlines and the order of what is shown depend on it.",
	}}
}

// ownerOf says whose the path of an error is when it is somebody else's: then no mode helps, and who that is has the data directory.
func ownerOf(err error) string {
	x, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return ""
	}
	for path := x.Path; ; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil && filepath.Dir(path) != path {
			continue // below a folder that cannot be looked into
		}
		if err != nil {
			return ""
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(st.Uid) == os.Getuid() {
			return ""
		}
		who := fmt.Sprintf("uid-%d", st.Uid)
		if u, err := user.LookupId(strconv.Itoa(int(st.Uid))); err == nil {
			who = u.Username
		}
		return fmt.Sprintf("%s belongs to %s, and you are %s. ", path, who, osUser())
	}
}

// explainPlace says what to do about a path or an address that cannot be used as what it was named for.
func explainPlace(err error, e *explanation) bool {
	if x, ok := errors.AsType[*server.OccupiedError](err); ok {
		e.Means, e.Next = "The coordinator has its socket there, and removes nothing that is not its own.", "Move it away: "+x.Path
		return true
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		e.Means, e.Next = "A file stands where a folder is meant. Nothing was done.", "Name a folder, below which nothing else is called so."
	case errors.Is(err, syscall.EISDIR):
		e.Means, e.Next = "A folder stands where a file is meant. Nothing was done.", "Name a file, or move the folder away."
	case errors.Is(err, syscall.EADDRINUSE):
		e.Means, e.Next = "Another program listens there. The coordinator does not start without its address.", "Set another port as listen.tcp, or end that program."
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.Means, e.Next = "This machine has no such address.", "Set one of its own as listen.tcp."
	default:
		return false
	}
	return true
}
