//go:build linux

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/postgres/pgtest"
	"arbiter/ssot/ssottest"
)

func init() { roles["full"] = playFull }

// somebodyInside is who a server runs as in a name space of its own, where it refuses to run as root.
const somebodyInside = 1000

// TestFull fills the file systems of a server: that of the tables, after which appends are refused and nothing else changes, and that of
// its write-ahead log, of which the server dies. With room both go on, and what was acknowledged is there once.
func TestFull(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, t.TempDir())
	c.Env = append(os.Environ(), childEnv+"=full")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: somebodyInside, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: somebodyInside, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	out, err := c.CombinedOutput()
	switch {
	case strings.Contains(string(out), pgtest.ErrAbsent.Error()):
		t.Skip("SKIPPED: " + pgtest.ErrAbsent.Error())
	case errors.Is(err, os.ErrPermission), strings.Contains(string(out), "mount: operation not permitted"):
		t.Skip("SKIPPED: no file system of its own can be mounted here")
	case err != nil || !strings.HasSuffix(string(out), "ok\n"):
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// filler appends until an append fails.
type filler struct {
	log   *Log
	acked map[uint64]string
	n     int
}

// next is a record that no compression makes small.
func (f *filler) next() amp.Record {
	body := make([]byte, 20<<10)
	_, _ = rand.Read(body) // it never fails
	f.n++
	return ssottest.Raw(fmt.Sprint("full", f.n), "", body)
}

// until appends until an error, or n times, and returns the record that failed.
func (f *filler) until(n int) (failed amp.Record, err error) {
	for range n {
		r := f.next()
		if err := f.put(r); err != nil {
			return r, err
		}
	}
	return amp.Record{}, nil
}

func (f *filler) put(r amp.Record) error {
	out, err := f.log.Append(context.Background(), []amp.Record{r})
	if err == nil {
		f.acked[out[0].Entry.Seq] = r.ID
	}
	return err
}

// check wants the journal to be whole and to hold what was acknowledged and nothing else.
func (f *filler) check() error {
	all, err := ssottest.All(context.Background(), f.log)
	if err != nil {
		return err
	}
	if len(all) != len(f.acked) {
		return fmt.Errorf("%d entries are stored, %d were acknowledged", len(all), len(f.acked))
	}
	for _, e := range all {
		if f.acked[e.Seq] != e.ID {
			return fmt.Errorf("entry %d is %s, acknowledged was %s", e.Seq, e.ID, f.acked[e.Seq])
		}
	}
	r, err := f.log.Verify(context.Background(), nil)
	return errors.Join(err, r.Err(f.log.name))
}

func tmpfs(dir, size string, flags uintptr) error {
	if flags == 0 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "mode=0700,size="+size); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// playFull runs a server whose tables and whose log are on small file systems of their own.
func playFull(args []string) (err error) {
	ctx := context.Background()
	if err := os.Setenv("TMPDIR", args[0]); err != nil {
		return err
	}
	tables, wal := filepath.Join(args[0], "tables"), filepath.Join(args[0], "wal")
	if err := errors.Join(tmpfs(tables, "8m", 0), tmpfs(wal, "24m", 0)); err != nil {
		return err
	}
	s, err := pgtest.Start(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := moveLog(ctx, s, filepath.Join(wal, "pg_wal")); err != nil {
		return err
	}
	if err := setUp(ctx, s, tables); err != nil {
		return err
	}
	opts := Options{URL: s.URL("journal"), Patience: time.Minute}
	log, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	f := &filler{log: log, acked: map[uint64]string{}}
	if err := fillTables(f, tables); err != nil {
		return errors.Join(fmt.Errorf("tables: %w", err), log.Close())
	}
	if err := log.Close(); err != nil {
		return err
	}
	opts.Patience = 200 * time.Millisecond // the server is gone for as long as this test wants
	if f.log, err = Open(ctx, opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.log.Close()) }()
	if err := fillLog(ctx, f, s, wal); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	fmt.Println(len(f.acked), "entries")
	fmt.Println("ok")
	return nil
}

// moveLog puts the server's write-ahead log into another folder.
func moveLog(ctx context.Context, s *pgtest.Server, to string) error {
	s.Stop()
	from := filepath.Join(s.Dir(), "data", "pg_wal")
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	if err := errors.Join(os.RemoveAll(from), os.Symlink(to, from)); err != nil {
		return err
	}
	return s.Run(ctx)
}

func setUp(ctx context.Context, s *pgtest.Server, tables string) error {
	c, err := pgx.Connect(ctx, s.URL("public"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, q := range []string{"CREATE TABLESPACE small LOCATION '" + tables + "'", "ALTER DATABASE postgres SET default_tablespace = small"} {
		if _, err := c.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func fillTables(f *filler, tables string) error {
	failed, err := f.until(10_000)
	if !errors.Is(err, ssot.ErrFull) || len(f.acked) == 0 {
		return fmt.Errorf("after %d appends to a full disk: %w", len(f.acked), err)
	}
	for range 5 { // it stays full, whatever is tried
		if _, err := f.until(1); !errors.Is(err, ssot.ErrFull) {
			return fmt.Errorf("another append to a full disk: %w", err)
		}
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("while full: %w", err)
	}
	if err := tmpfs(tables, "200m", unix.MS_REMOUNT); err != nil {
		return err
	}
	if err := f.put(failed); err != nil {
		return fmt.Errorf("with room: %w", err)
	}
	return f.check()
}

func fillLog(ctx context.Context, f *filler, s *pgtest.Server, wal string) error {
	before := len(f.acked)
	failed, err := f.until(10_000)
	if !errors.Is(err, ssot.ErrUnreachable) || len(f.acked) == before {
		return fmt.Errorf("after %d appends the server did not die: %w", len(f.acked)-before, err)
	}
	s.Stop()
	if err := tmpfs(wal, "400m", unix.MS_REMOUNT); err != nil {
		return err
	}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("with room: %w", err)
	}
	for err = ssot.ErrUnreachable; errors.Is(err, ssot.ErrUnreachable); err = f.put(failed) { // it may be stored already; then it is not again
	}
	if err != nil {
		return fmt.Errorf("with room: %w", err)
	}
	if _, err := f.until(20); err != nil {
		return fmt.Errorf("with room: %w", err)
	}
	return f.check()
}
