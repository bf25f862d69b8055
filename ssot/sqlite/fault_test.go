//go:build linux

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/ssot"
)

func init() {
	roles["faults"], roles["die"], roles["quota"], roles["unsynced"] = playFaults, playDie, playQuota, playUnsynced
}

// playFaults lets, in one scenario and with one fault, the nth call fail, for many n. After each the journal is whole and holds what
// was acknowledged; a full disk is overcome without opening it again; and no descriptor is left open.
func playFaults(args []string) error {
	c, err := install()
	if err != nil {
		return err
	}
	root, s, f := args[0], scenarios[args[1]], faults[args[2]]
	limit, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	template := filepath.Join(root, "template")
	if err := errors.Join(few(filepath.Join(root, "first")), os.Mkdir(template, 0o700), s.before(template)); err != nil {
		return err // what the process opens once, it has open now
	}
	total, failed := 0, 0
	try := func(n int) error {
		dir := filepath.Join(root, fmt.Sprint(n))
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			return err
		}
		files := descriptors()
		var acked []amp.Entry
		c.arm(n, f)
		err := s.run(dir, func(e amp.Entry) { acked = append(acked, e) })
		calls := c.disarm()
		if n == 0 {
			total = calls
		}
		if err != nil {
			failed++
		}
		if now := descriptors(); now != files {
			return fmt.Errorf("call %d (%v): %d files are open, %d were before", n, err, now, files)
		}
		if why := honest(err, f); why != nil {
			return fmt.Errorf("call %d of %d: %w", n, calls, why)
		}
		if err := holds(dir, acked); err != nil {
			return fmt.Errorf("after call %d of %d failed (%v): %w", n, calls, err, err)
		}
		return os.RemoveAll(dir)
	}
	if err := try(0); err != nil || failed > 0 {
		return fmt.Errorf("without a fault: %d failed, %w", failed, err)
	}
	chosen := some(total, limit)
	for _, n := range chosen {
		if err := try(n); err != nil {
			return err
		}
	}
	if f.lasting && args[1] == "append" {
		if err := goesOn(c, filepath.Join(root, "on"), f); err != nil {
			return err
		}
	}
	fmt.Println("ok", total, len(chosen), failed)
	return nil
}

// some are a few of the numbers from 1 to total, in order: one of each of as many equal parts, so that the work before the first checkpoint is
// always among them.
func some(total, few int) (all []int) {
	r := rand.New(rand.NewPCG(uint64(total), uint64(few)))
	few = min(total, few)
	for i := range few {
		from, to := i*total/few, (i+1)*total/few
		all = append(all, 1+from+r.IntN(to-from))
	}
	return all
}

// honest says why an error is not one that tells what happened.
func honest(err error, f fault) error {
	_, damaged := errors.AsType[*DamagedError](err)
	switch {
	case damaged && f.errno != syscall.EIO: // what a disk does not give back, SQLite calls malformed
		return fmt.Errorf("the journal is called damaged: %w", err)
	case err != nil && f.errno == syscall.ENOSPC && !errors.Is(err, ssot.ErrFull):
		return fmt.Errorf("a full disk is called %w", err)
	}
	return nil
}

// goesOn fills the disk at some append, and goes on with the same log when there is room.
func goesOn(c *calls, dir string, f fault) error {
	if f.errno == syscall.EDQUOT {
		return nil // whether a quota is used up the store finds out by itself, not by what SQLite says: see playQuota
	}
	var acked []amp.Entry
	if err := few(dir); err != nil {
		return err
	}
	err := opened(dir, func(log *Log) error {
		for n := range 60 {
			id := fmt.Sprint("full", n)
			c.arm(1+n, f)
			err := appendNext(log, id, 20_000, func(e amp.Entry) { acked = append(acked, e) })
			if err != nil && !errors.Is(err, ssot.ErrFull) {
				return fmt.Errorf("call %d while an append: %w", n, err)
			}
			c.heal()
			if err == nil {
				continue
			}
			if err := appendNext(log, id, 20_000, func(e amp.Entry) { acked = append(acked, e) }); err != nil {
				return fmt.Errorf("with room again, after call %d: %w", n, err)
			}
		}
		head, err := log.Head(context.Background())
		if want := 60 + len(acked); int(head.Seq) != want { // 60 were there, and what failed is stored once
			err = fmt.Errorf("%d entries are stored, %d were acknowledged", head.Seq, want)
		}
		return err
	})
	c.disarm()
	return errors.Join(err, holds(dir, acked))
}

func descriptors() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(all)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	limit := times(t, "ARBITER_STORE_FAULTS", 8)
	for scenario := range scenarios {
		for name, f := range faults {
			if f.kill {
				continue
			}
			limit := limit
			if scenario == "checkpoint" && limit < 10 {
				limit /= 2 // it writes much
			}
			t.Run(scenario+"/"+name, func(t *testing.T) {
				t.Parallel()
				out, err := child(t.Context(), "faults", t.TempDir(), scenario, name, strconv.Itoa(limit)).CombinedOutput()
				var calls, tried, failed int
				if n, _ := fmt.Sscanf(string(out), "ok %d %d %d\n", &calls, &tried, &failed); err != nil || n != 3 {
					t.Fatalf("%v: %s", err, out)
				}
				t.Logf("%d calls, %d of them failed one by one, %d times the store said so", calls, tried, failed)
				if failed == 0 {
					t.Errorf("none of %d faults had an effect: the test proves nothing", tried)
				}
			})
		}
	}
}

// playDie ends in the nth call of a scenario. It says what it acknowledged; with 0 how many calls there are.
func playDie(args []string) error {
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	c, err := install()
	if err != nil {
		return err
	}
	c.arm(n, faults[args[2]])
	err = scenarios[args[1]].run(args[0], func(e amp.Entry) { fmt.Println("acked", e.Seq, e.Hash) })
	fmt.Println("calls", c.disarm())
	return err
}

// TestDie ends a process in any call of SQLite on a file, also half way through a write: while it makes a journal, appends, folds the
// write-ahead log in, migrates, rebuilds and imports. What was acknowledged is there, and all is whole.
func TestDie(t *testing.T) {
	t.Parallel()
	limit := times(t, "ARBITER_STORE_DEATHS", 4)
	for scenario, s := range scenarios {
		for _, name := range []string{"kill", "torn"} {
			t.Run(scenario+"/"+name, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				template := filepath.Join(root, "template")
				if err := errors.Join(os.Mkdir(template, 0o700), s.before(template)); err != nil {
					t.Fatal(err)
				}
				play := func(n int) (total int) {
					dir := filepath.Join(root, fmt.Sprint(n))
					if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
						t.Fatal(err)
					}
					c := child(t.Context(), "die", dir, scenario, name, strconv.Itoa(n))
					var said, complaint bytes.Buffer
					c.Stdout, c.Stderr = &said, &complaint
					err := c.Run()
					exit, _ := errors.AsType[*exec.ExitError](err)
					if died := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL; died != (n > 0) || n == 0 && err != nil {
						t.Fatalf("call %d: %v, %s%s", n, err, &said, &complaint)
					}
					for line := range strings.Lines(said.String()) {
						_, _ = fmt.Sscanf(line, "calls %d\n", &total)
					}
					if err := holds(dir, ackedLines(t, said.String())); err != nil {
						t.Errorf("after a death in call %d: %v", n, err)
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Error(err)
					}
					return total
				}
				total := play(0)
				chosen := some(total, limit)
				for _, n := range chosen {
					play(n)
				}
				t.Logf("%d calls, a death in each of %d", total, len(chosen))
			})
		}
	}
}

// playQuota lets every write of SQLite fail as one beyond a quota does, on a file system that is as full, and then gives room.
func playQuota(args []string) error {
	c, err := install()
	if err != nil {
		return err
	}
	dir := args[0]
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	var acked []amp.Entry
	keep := func(e amp.Entry) { acked = append(acked, e) }
	err = opened(dir, func(log *Log) error {
		if err := appendNext(log, "before", 10, keep); err != nil {
			return err
		}
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the file system takes everything: %w", err)
		}
		c.arm(1, faults["edquot_stays"])
		if err := appendNext(log, "full", 10, keep); !errors.Is(err, ssot.ErrFull) {
			return fmt.Errorf("an append beyond the quota: %w", err)
		}
		c.heal()
		if err := os.Remove(ballast); err != nil {
			return err
		}
		if err := appendNext(log, "full", 10, keep); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
		left, err := filepath.Glob(filepath.Join(dir, ".room-*"))
		if len(left) > 0 {
			return fmt.Errorf("%v is left", left)
		}
		return errors.Join(err, stored(log, acked))
	})
	c.disarm()
	if err == nil {
		fmt.Println("ok")
	}
	return err
}

// playUnsynced appends until an append fails, and says whether the store then stays stopped.
func playUnsynced(args []string) error {
	return opened(args[0], func(log *Log) error {
		acked := func(e amp.Entry) { fmt.Println("acked", e.Seq, e.Hash) }
		for n := range 200 {
			err := appendNext(log, fmt.Sprint("next", n), 10, acked)
			if err == nil {
				continue
			}
			if again := appendNext(log, "again", 10, acked); !errors.Is(err, ssot.ErrFailed) || !errors.Is(again, ssot.ErrFailed) {
				return fmt.Errorf("%w, and then %v", err, again)
			}
			fmt.Println("stopped")
			os.Exit(0) // as a process that cannot trust its disk
		}
		return errors.New("no append failed")
	})
}

// TestSync lets the system say that what was written could not be synced: the kernel may have dropped it, so nothing is acknowledged
// any more, also when the next sync works. What was acknowledged before is there.
func TestSync(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT RUN: strace is not installed, so no sync can be made to fail")
	}
	dir := t.TempDir()
	if err := few(dir); err != nil {
		t.Fatal(err)
	}
	c := child(t.Context(), "unsynced", dir)
	c.Args = []string{
		strace, "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=5", os.Args[0], dir,
	}
	c.Path = strace
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "not permitted") {
		t.Skip("NOT RUN: processes cannot be traced here")
	}
	if err != nil || !strings.Contains(string(out), "stopped\n") {
		t.Fatalf("%v: %s", err, out)
	}
	acked := ackedLines(t, string(out))
	if len(acked) == 0 {
		t.Error("nothing was acknowledged before: the test proves nothing")
	}
	if err := holds(dir, acked); err != nil {
		t.Error(err)
	}
}

// ackedLines are what a child acknowledged.
func ackedLines(t *testing.T, said string) (acked []amp.Entry) {
	t.Helper()
	for line := range strings.Lines(said) {
		var e amp.Entry
		var hash string
		if k, _ := fmt.Sscanf(line, "acked %d %s\n", &e.Seq, &hash); k == 2 && strings.HasSuffix(line, "\n") {
			if err := e.Hash.UnmarshalText([]byte(hash)); err != nil {
				t.Fatal(err)
			}
			acked = append(acked, e)
		}
	}
	return acked
}
