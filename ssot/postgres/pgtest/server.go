//go:build linux

// Package pgtest starts a real PostgreSQL server for tests, in a folder of its own and on a unix socket only.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrAbsent says that PostgreSQL is not installed, or that nobody is there to run it as.
var ErrAbsent = errors.New("PostgreSQL is not installed: install the package postgresql, or name its folder of programs in ARBITER_POSTGRES_BIN")

// Server is a running server.
type Server struct {
	dir, bin string
	cred     *syscall.Credential
	fsync    string
	ended    chan struct{} // closed when the process that runs has ended
	process  *os.Process
	schemas  atomic.Int64
}

// Start makes a database and starts a server on it. Without sync it is quicker, and what it stores outlasts the server only. The caller
// stops it with Close; it ends with this process at the latest.
func Start(ctx context.Context, sync bool) (_ *Server, err error) {
	s := &Server{bin: programs(), fsync: "off"}
	if s.bin == "" {
		return nil, ErrAbsent
	}
	if sync {
		s.fsync = "on"
	}
	if s.dir, err = os.MkdirTemp("", "arbiter-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.dir) // it failed already
		}
	}()
	if os.Getuid() == 0 { // the server refuses to run as root
		if s.cred, err = somebody(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return nil, err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "owner", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.cred}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return s, s.Run(ctx)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// programs is the folder with the newest server that is installed, or "".
func programs() string {
	if dir := os.Getenv("ARBITER_POSTGRES_BIN"); dir != "" {
		return dir
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			return ""
		}
		return filepath.Dir(path)
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(found[len(found)-1])
}

func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

// somebody is a user who is not root.
func somebody() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, ErrAbsent
}

// Run starts the server on its database, as Start did, after a Stop.
func (s *Server) Run(ctx context.Context) error {
	c := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync="+s.fsync,
		"-c", "full_page_writes="+s.fsync, "-c", "max_connections=400", "-c", "shared_buffers=128MB", "-c", "log_min_messages=fatal",
		"-c", "autovacuum_naptime=5min", "-c", "max_wal_size=4GB")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.Dir, c.Stdout, c.Stderr = s.dir, log, log
	// The server goes with this process, which is told by the thread that started it: so that thread stays.
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	started := make(chan error, 1)
	s.ended = make(chan struct{})
	go func(ended chan struct{}) {
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait() // it was told to end, or its log says why it did
			close(ended)
		}
	}(s.ended)
	if err := <-started; err != nil {
		return err
	}
	s.process = c.Process
	return s.ready(ctx)
}

// ready waits until the server answers.
func (s *Server) ready(ctx context.Context) error {
	for {
		out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.dir, "-U", "owner", "-d", "postgres").CombinedOutput()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server ended: %s", bytes.TrimSpace(said))
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w: %s", ctx.Err(), out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server as pg_ctl stop -m immediate does: without a checkpoint, so that it recovers when it is started again.
func (s *Server) Stop() {
	_ = s.process.Signal(syscall.SIGQUIT) // it may have ended
	<-s.ended
}

// Close ends the server and removes its database.
func (s *Server) Close() error {
	s.Stop()
	return os.RemoveAll(s.dir)
}

// Socket is the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Dir is the folder of the server's socket.
func (s *Server) Dir() string { return s.dir }

// URL is the address of a schema, for its owner.
func (s *Server) URL(schema string) string { return s.As("owner", schema) }

// As is the address of a schema for a role.
func (s *Server) As(role, schema string) string {
	return fmt.Sprintf("postgres://%s@/postgres?host=%s&search_path=%s&connect_timeout=300", role, s.dir, schema)
}

// Schema is the name of a schema that no other call was given.
func (s *Server) Schema() string { return fmt.Sprintf("j%d", s.schemas.Add(1)) }
