//go:build linux

package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

func init() { roles["durable"] = playDurable }

// ackName is the file into which the child below writes what was acknowledged. It stands beside the data directory.
const ackName = "acknowledged"

// playDurable appends with several producers, writes down each acknowledged seq, and closes. With "NORMAL" as its second argument
// it does not sync each transaction: the control arm.
func playDurable(args []string) (err error) {
	log, err := Open(context.Background(), args[0], Options{tail: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if args[1] == "NORMAL" {
		if err := log.writer.alone(context.Background(), func(w *writer) error {
			_, err := w.conn.ExecContext(context.Background(), "PRAGMA synchronous = NORMAL")
			return err
		}); err != nil {
			return err
		}
	}
	acks, err := os.Create(filepath.Join(filepath.Dir(args[0]), ackName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, acks.Close()) }()
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := range 45 {
				r := ssottest.Note(fmt.Sprint("p", p, "-", i), ssottest.Task(1+p), strings.Repeat("z", 37*i))
				out, err := log.Append(context.Background(), []amp.Record{r})
				if err == nil {
					_, err = fmt.Fprintf(acks, "%d\n", out[0].Entry.Seq)
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// op is one thing that a process did to a file.
type op struct {
	what string // write, truncate, unlink, sync, ack
	file string // its base name; "." is the data directory
	off  int64
	data []byte
	size int64
	ack  uint64
}

// TestPowerCut records what a process does to its files, makes up what a power cut at any moment may leave of it, and opens
// that. A kill cannot show a missing sync, since the system keeps what was written; this can. The arm that does not sync each
// transaction must lose something, or the test proves nothing.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("NOT RUN: strace is not installed, so no power cut can be replayed")
	}
	all := times(t, "ARBITER_STORE_STATES", 200)
	for mode, want := range map[string]func(lost, states int) bool{
		"FULL":   func(lost, _ int) bool { return lost == 0 },
		"NORMAL": func(lost, states int) bool { return lost > states/2 },
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			states := all
			if mode == "NORMAL" {
				states = min(all/4, 1000)
			}
			base, ops := record(t, strace, mode)
			r := rand.New(rand.NewPCG(11, 13))
			lost, unacked := 0, 0
			for range states {
				cut := r.IntN(len(ops) + 1)
				stored, acked := powerCut(t, base, ops[:cut], r)
				if stored < acked {
					lost++
				}
				unacked += int(max(stored, acked) - acked)
			}
			t.Logf("%d operations, %d states, %d lost an acknowledged entry, %d entries stored without an answer", len(ops), states,
				lost, unacked)
			if !want(lost, states) {
				t.Errorf("%d of %d states lost an acknowledged entry", lost, states)
			}
		})
	}
}

// record runs the child under strace and returns the journal before it and what it did.
func record(t *testing.T, strace, mode string) (base []byte, ops []op) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	log := openLog(t, dir)
	fill(t, log, 100)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(root, "trace")
	c := child(t.Context(), "durable", dir, mode)
	c.Args = append([]string{
		strace, "-f", "-y", "-xx", "-s", "4194304", "-o", trace, "-e",
		"trace=pwrite64,write,fsync,fdatasync,ftruncate,unlink,unlinkat", os.Args[0],
	}, dir, mode)
	c.Path = strace
	if out, err := c.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "not permitted") {
			t.Skip("NOT RUN: processes cannot be traced here")
		}
		t.Fatalf("%v: %s", err, out)
	}
	return base, parseTrace(t, trace, dir)
}

// parseTrace reads strace's lines. A call that was interrupted by another thread's counts where it ended.
func parseTrace(t *testing.T, path, dir string) (ops []op) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	begun := map[string]string{}
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		pid, call, ok := strings.Cut(strings.TrimSpace(line), " ")
		if call = strings.TrimSpace(call); !ok {
			continue
		}
		if head, ok := strings.CutSuffix(call, "<unfinished ...>"); ok {
			begun[pid] = strings.TrimSpace(head)
			continue
		}
		if strings.HasPrefix(call, "<... ") {
			_, rest, _ := strings.Cut(call, "resumed>")
			call = begun[pid] + rest
		}
		if o, ok := parseCall(t, call, dir); ok {
			ops = append(ops, o)
		}
	}
	syncs, acks := 0, 0
	for _, o := range ops {
		if o.what == "sync" {
			syncs++
		}
		if o.what == "ack" {
			acks++
		}
	}
	if acks != 8*45 || syncs == 0 {
		t.Fatalf("the trace shows %d acknowledgements and %d syncs", acks, syncs)
	}
	return ops
}

// parseCall reads one finished call; ok is false for what does not concern the journal.
func parseCall(t *testing.T, call, dir string) (o op, ok bool) {
	t.Helper()
	name, args, ok := strings.Cut(call, "(")
	args, result, found := cutLast(args, " = ")
	if !ok || !found || strings.HasPrefix(strings.TrimSpace(result), "-") {
		return o, false
	}
	args = strings.TrimSuffix(strings.TrimSpace(args), ")")
	if name == "unlink" || name == "unlinkat" {
		_, quoted, _ := strings.Cut(args, `"`)
		quoted, _, _ = strings.Cut(quoted, `"`)
		path := string(unhex(t, quoted))
		return op{what: "unlink", file: filepath.Base(path)}, filepath.Dir(path) == dir
	}
	_, path, _ := strings.Cut(args, "<")
	path, rest, _ := strings.Cut(path, ">")
	path = string(unhex(t, path))
	file := filepath.Base(path)
	if path == dir {
		file = "."
	} else if file == ackName {
		file = ackName
	} else if filepath.Dir(path) != dir || strings.HasSuffix(file, "-shm") || file == lockName {
		return o, false
	}
	parts := strings.Split(strings.TrimPrefix(rest, ", "), ", ")
	switch name {
	case "fsync", "fdatasync":
		return op{what: "sync", file: file}, true
	case "ftruncate":
		return op{what: "truncate", file: file, size: number(t, parts[0])}, true
	case "write":
		if file != ackName {
			t.Fatalf("%s was written without a position", file)
		}
		return op{what: "ack", ack: uint64(number(t, strings.TrimSpace(string(unhex(t, parts[0])))))}, true
	case "pwrite64":
		return op{what: "write", file: file, data: unhex(t, parts[0]), off: number(t, parts[2])}, true
	}
	return o, false
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// unhex reads strace's \x00\x01 form; text in another form is taken as it is.
func unhex(t *testing.T, s string) []byte {
	t.Helper()
	s = strings.Trim(s, `"`)
	if !strings.HasPrefix(s, `\x`) {
		return []byte(s)
	}
	out := make([]byte, 0, len(s)/4)
	for ; len(s) >= 4; s = s[4:] {
		b, err := strconv.ParseUint(s[2:4], 16, 8)
		if err != nil {
			t.Fatalf("%q: %v", s[:4], err)
		}
		out = append(out, byte(b))
	}
	return out
}

// powerCut makes up what is left of the operations, opens it and checks it, and returns the last entry that is stored and the
// last one that was acknowledged. What was synced is there; of the rest each operation is dropped, kept or torn.
func powerCut(t *testing.T, base []byte, ops []op, r *rand.Rand) (stored, acked uint64) {
	t.Helper()
	files := map[string][]byte{fileName: bytes.Clone(base)}
	synced := map[string]int{}
	for i, o := range ops {
		if o.what == "sync" {
			synced[o.file] = i
		}
	}
	for i, o := range ops {
		durable := i < synced[o.file] || o.what == "unlink" && i < synced["."]
		lot := r.IntN(100)
		switch {
		case o.what == "ack":
			acked = max(acked, o.ack)
		case !durable && lot < 40, o.what == "sync":
		case o.what == "unlink":
			delete(files, o.file)
		case o.what == "truncate":
			files[o.file] = append(files[o.file], make([]byte, max(0, int(o.size)-len(files[o.file])))...)[:o.size]
		case durable || lot < 75:
			files[o.file] = overwrite(files[o.file], o.off, o.data)
		case r.IntN(2) == 0: // torn: the beginning
			files[o.file] = overwrite(files[o.file], o.off, o.data[:512*r.IntN(1+len(o.data)/512)])
		default: // torn: some sectors
			for at := 0; at < len(o.data); at += 512 {
				if r.IntN(2) == 0 {
					files[o.file] = overwrite(files[o.file], o.off+int64(at), o.data[at:min(at+512, len(o.data))])
				}
			}
		}
	}
	dir, err := os.MkdirTemp(t.TempDir(), "cut")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, fs.FileMode(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	log, err := Open(t.Context(), dir, Options{Unindexed: true})
	if err != nil {
		t.Fatalf("open after a power cut at operation %d: %v", len(ops), err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := log.Verify(t.Context(), nil)
	if err != nil || report.Err("journal") != nil {
		t.Fatalf("after a power cut at operation %d: %+v, %v", len(ops), report, err)
	}
	return report.Head.Seq, acked
}

func overwrite(file []byte, off int64, data []byte) []byte {
	if need := int(off) + len(data); len(data) > 0 && need > len(file) {
		file = slices.Grow(file, 1<<20+need-len(file))
		clear(file[len(file):need])
		file = file[:need]
	}
	copy(file[min(int(off), len(file)):], data)
	return file
}
