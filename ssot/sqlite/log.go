package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

var (
	_ ssot.Log     = (*Log)(nil)
	_ ssot.Boarder = (*Log)(nil)
)

// Options are the choices of an Open. The zero value is ready for use.
type Options struct {
	// Version is the program's version, written into the lock file for a person to read.
	Version string
	// Work is what the process does with the journal, for whoever is kept out meanwhile: a command, in words. [Working] says later what
	// else it does.
	Work string
	// Unindexed leaves the index of searches as it is, which costs as much as all else that an append does: for imports and copies.
	// The next open without it brings the index up to date; searches look through the journal until then.
	Unindexed bool

	tail int // in place of tailFull, for tests of few entries
}

// Log is a journal in a SQLite file. It is safe for concurrent use. Only one process at a time has it open for writing.
type Log struct {
	file
	gate
	lock   *lock
	reader *readers
	writer *writer // nil when opened for reading
	index  *index
}

// Open opens the journal of a data directory for writing, and makes directory and journal when there are none. It checks the
// chain of the last 256 entries; [Log.Verify] checks all of it. The errors to tell apart are *[HeldError], *[DamagedError],
// *[NewerError], *[NetworkError] and *[LinkError]. The caller closes the log.
func Open(ctx context.Context, dir string, opts Options) (_ *Log, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	if name := networkFS(dir); name != "" {
		return nil, &NetworkError{Dir: dir, FS: name}
	}
	if err := ofd(); err != nil {
		return nil, err
	}
	l := newLog(dir)
	if err := l.oneName(); err != nil {
		return nil, err
	}
	if l.lock, err = hold(dir, opts.Version, opts.Work); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()
	if err := sweepRoom(dir); err != nil {
		return nil, fmt.Errorf("remove what a killed process left: %w", err)
	}
	there, err := l.exists()
	if err != nil {
		return nil, err
	}
	if !there {
		if err := l.create(ctx); err != nil {
			return nil, fmt.Errorf("create journal %s: %w", l.path, err)
		}
	}
	if l.writer, err = startWriter(ctx, &l.file, cmp.Or(opts.tail, tailFull)); err != nil {
		return nil, err
	}
	if l.reader, err = openReaders(l.path, ""); err != nil {
		return nil, err
	}
	if err := checkOFD(dir); err != nil {
		return nil, err
	}
	if !opts.Unindexed {
		l.index.start()
	}
	return l, nil
}

func newLog(dir string) *Log {
	l := &Log{file: file{path: filepath.Join(dir, fileName)}}
	l.index = &index{
		path: filepath.Join(dir, searchName), log: l, wake: make(chan struct{}, 1), moved: make(chan struct{}),
	}
	return l
}

// OpenReadOnly opens the journal of a data directory for reading, also beside a process that writes it. The caller closes the log.
func OpenReadOnly(ctx context.Context, dir string) (_ *Log, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := ofd(); err != nil {
		return nil, err
	}
	l := newLog(dir)
	there, err := l.exists()
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("open journal %s: %w", l.path, os.ErrNotExist)
	}
	have, know, err := l.openReader(ctx, "")
	if l.asleep(err) {
		l.index.more = "&immutable=1"
		have, know, err = l.openReader(ctx, l.index.more)
	}
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	if have < know {
		return nil, errors.Join(&ssot.OlderError{Path: l.path, Have: have, Know: know}, l.release())
	}
	return l, nil
}

func (l *Log) openReader(ctx context.Context, more string) (have, know int64, err error) {
	if l.reader != nil {
		if err := l.reader.Close(); err != nil {
			return 0, 0, err
		}
	}
	if l.reader, err = openReaders(l.path, more); err != nil {
		return 0, 0, err
	}
	return l.schema(ctx, l.reader)
}

// asleep reports whether an open for reading failed because nothing may be written beside the file, which a reader too has to do
// to share it with a writer, and whether there is no writer: then it can be read as a file that does not change.
func (l *Log) asleep(err error) bool {
	d, ok := errors.AsType[*driver.Error](err)
	if !ok || d.Code()&0xff != codes.SQLITE_READONLY && d.Code()&0xff != codes.SQLITE_CANTOPEN {
		return false
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(l.path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// Append stores the records as [ssot.Log] says. When the queue stays full for 2 seconds it fails with [ssot.ErrBusy]. A context
// that ends while the records wait takes them back; once the writer has them their fate is waited for.
func (l *Log) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if l.writer == nil {
		return nil, ErrReadOnly
	}
	if err := ctx.Err(); err != nil || len(records) == 0 {
		return nil, err
	}
	r := &group.Request{Records: records, Facts: make([]amp.Fact, len(records))}
	for i := range records {
		r.Facts[i] = amp.Parse(&records[i])
	}
	if err := l.writer.queue.Do(ctx, r); err != nil {
		return nil, err
	}
	last := uint64(0)
	for i := range r.Out {
		last = max(last, r.Out[i].Entry.Seq)
	}
	l.index.grown(last)
	return r.Out, nil
}

// Close waits for the appends and reads under way, then closes the file and gives the data directory free.
func (l *Log) Close() error {
	if err := l.shut(); err != nil {
		return err
	}
	return l.release()
}

// release closes what is open. The readers go first: the last connection, which folds the write-ahead log back into the file,
// has to be the writer's.
func (l *Log) release() (err error) {
	err = l.index.close()
	if l.reader != nil {
		err = errors.Join(err, l.reader.Close())
	}
	if l.writer != nil {
		err = errors.Join(err, l.writer.stop())
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.release())
	}
	return err
}

// gate counts who is inside, and closes when all have left.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ssot.ErrClosed
	}
	g.inside.Add(1)
	return nil
}

func (g *gate) leave() { g.inside.Done() }

func (g *gate) shut() error {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return ssot.ErrClosed
	}
	g.inside.Wait()
	return nil
}
