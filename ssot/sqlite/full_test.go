//go:build linux

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

func init() {
	roles["full"], roles["limited"], roles["cramped"] = playFull, playLimited, playCramped
}

var fullBody = strings.Repeat("full ", 500)

// untilError appends until an append fails, and returns what was acknowledged and the error.
func untilError(log *Log, name string) (acked []amp.Entry, err error) {
	for i := range 100_000 {
		r := ssottest.Note(fmt.Sprint(name, i), ssottest.Task(1+i%5), fullBody)
		out, err := log.Append(context.Background(), []amp.Record{r, ssottest.Raw(fmt.Sprint(name, i, "+"), "", []byte(fullBody))})
		if err != nil {
			return acked, err
		}
		acked = append(acked, out[0].Entry, out[1].Entry)
	}
	return acked, errors.New("no append failed")
}

// stored says what is wrong with a log that must hold exactly what was acknowledged.
func stored(log *Log, acked []amp.Entry) error {
	all, err := ssottest.All(context.Background(), log)
	if err != nil {
		return err
	}
	if len(all) != len(acked) {
		return fmt.Errorf("%d entries are stored, %d were acknowledged", len(all), len(acked))
	}
	for i := range all {
		if all[i].Hash != acked[i].Hash {
			return fmt.Errorf("entry %d is not the one that was acknowledged", all[i].Seq)
		}
	}
	if err := ssottest.CheckJournal(context.Background(), log); err != nil {
		return err
	}
	r, err := log.Verify(context.Background(), nil)
	if err != nil {
		return err
	}
	return r.Err("journal")
}

// playFull fills a file system of its own, frees some of it and goes on with the same log.
func playFull(args []string) (err error) {
	dir := args[0]
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	log, err := Open(context.Background(), dir, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	acked, err := untilError(log, "first")
	if !errors.Is(err, ssot.ErrFull) {
		return fmt.Errorf("the append to a full disk: %w", err)
	}
	for i := range 20 { // it stays full, whatever is tried
		r := ssottest.Note(fmt.Sprint("try", i), ssottest.Task(50+i), strings.Repeat(fullBody, 40))
		if _, err := log.Append(context.Background(), []amp.Record{r}); !errors.Is(err, ssot.ErrFull) {
			return fmt.Errorf("another append to a full disk: %v", err)
		}
	}
	if err := stored(log, acked); err != nil {
		return fmt.Errorf("while full: %w", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	more, err := untilError(log, "second")
	if len(more) == 0 || !errors.Is(err, ssot.ErrFull) {
		return fmt.Errorf("after space was freed %d appends went well, then: %w", len(more), err)
	}
	if err := stored(log, append(acked, more...)); err != nil {
		return fmt.Errorf("after space was freed: %w", err)
	}
	fmt.Println("ok")
	return nil
}

// playCramped makes journals on file systems that are full at some moment of it. With room, each opens and is whole.
func playCramped(args []string) error {
	failed := 0
	for kb := 40; kb <= 340; kb += 20 {
		dir := filepath.Join(args[0], fmt.Sprint(kb))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kb)); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		home := filepath.Join(dir, "home")
		acked, err := fillAndClose(home, "first")
		if len(acked) == 0 {
			failed++
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=16m"); err != nil {
			return fmt.Errorf("remount: %w", err)
		}
		log, again := Open(context.Background(), home, Options{})
		if again != nil {
			return fmt.Errorf("made on %d KB (%v), with room: %w", kb, err, again)
		}
		if err := errors.Join(stored(log, acked), log.Close(), unix.Unmount(dir, unix.MNT_DETACH)); err != nil {
			return fmt.Errorf("made on %d KB, with room: %w", kb, err)
		}
	}
	if failed < 3 {
		return fmt.Errorf("only %d journals were refused: the file systems were not full", failed)
	}
	fmt.Println("ok")
	return nil
}

// fillAndClose makes a journal and appends until the disk is full.
func fillAndClose(home, name string) (acked []amp.Entry, err error) {
	log, err := Open(context.Background(), home, Options{})
	if err != nil {
		return nil, err
	}
	acked, err = untilError(log, name)
	return acked, errors.Join(err, log.Close())
}

func TestFull(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"full", "cramped", "quota"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			c := child(t.Context(), role, t.TempDir())
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := c.CombinedOutput()
			if errors.Is(err, os.ErrPermission) || strings.Contains(string(out), "mount: operation not permitted") {
				t.Skip("NOT RUN: no file system of its own can be mounted here")
			}
			if err != nil || string(out) != "ok\n" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// playLimited lets writes fail for another reason than a full disk: then nothing is acknowledged any more, also when the reason
// is gone, and the file opened again holds what was acknowledged.
func playLimited(args []string) (err error) {
	signal.Ignore(unix.SIGXFSZ)
	log, err := Open(context.Background(), args[0], Options{})
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: limit.Max}); err != nil {
		return err
	}
	acked, err := untilError(log, "first")
	if !errors.Is(err, ssot.ErrFailed) {
		return fmt.Errorf("the append whose write fails: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for i := range 3 {
		_, err := log.Append(context.Background(), []amp.Record{ssottest.Note(fmt.Sprint("late", i), "", "")})
		if !errors.Is(err, ssot.ErrFailed) {
			return fmt.Errorf("an append after a failed write: %v", err)
		}
	}
	if err := log.Rebuild(context.Background(), nil); !errors.Is(err, ssot.ErrFailed) {
		return fmt.Errorf("a rebuild after a failed write: %v", err)
	}
	if err := log.Close(); err != nil {
		return err
	}
	if log, err = Open(context.Background(), args[0], Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := stored(log, acked); err != nil {
		return fmt.Errorf("after opening again: %w", err)
	}
	fmt.Println("ok")
	return nil
}

func TestFailedWrite(t *testing.T) {
	t.Parallel()
	if out, err := child(t.Context(), "limited", t.TempDir()).CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// asNobody plays a role without the rights of root.
func asNobody(t *testing.T, role, dir string) (string, error) {
	t.Helper()
	c := child(t.Context(), role, dir)
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	c.Dir = "/"
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestOpen_readOnlyDirectory(t *testing.T) {
	t.Parallel()
	empty, full := t.TempDir(), t.TempDir()
	if err := os.Chmod(filepath.Dir(empty), 0o755); err != nil {
		t.Fatal(err)
	}
	log := openLog(t, full)
	fill(t, log, 200)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{fileName, lockName} {
		if err := os.Chmod(filepath.Join(full, f), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{empty, full} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
		out, err := asNobody(t, "open", dir)
		if err == nil || !strings.Contains(out, "permission denied") || !strings.Contains(out, dir) {
			t.Errorf("Open of a directory that cannot be written: %v, %s", err, out)
		}
	}
	if out, err := asNobody(t, "read", full); err != nil || !strings.HasPrefix(out, "200 200\n") {
		t.Errorf("OpenReadOnly of a directory that cannot be written: %v, %s", err, out)
	}
}
