package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// tree is where the files of a mirror are read from.
type tree interface {
	// names are the rows of a folder in order, folders with a slash at the end; none when there is no such folder.
	names(ctx context.Context, dir string) ([]string, error)
	// read is the content of a file, nil when it is not there.
	read(ctx context.Context, path string, limit int) ([]byte, error)
	Close() error
}

// commitTree reads the files of a commit.
type commitTree struct {
	objects *objects
	root    string
}

func (c *commitTree) names(ctx context.Context, dir string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, ok, err := c.objects.find(c.root, dir)
	if err != nil || !ok {
		return nil, err
	}
	if !at.isDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	rows, err := c.objects.tree(at.id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s is an empty folder, which no git writes", dir)
	}
	var all []string
	for _, r := range rows {
		name := r.name
		if r.isDir() {
			name += "/"
		}
		all = append(all, name)
	}
	return all, nil
}

func (c *commitTree) read(_ context.Context, path string, limit int) ([]byte, error) {
	at, ok, err := c.objects.find(c.root, path)
	if err != nil || !ok {
		return nil, err
	}
	if !at.isFile() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return c.objects.read(at.id, "blob", limit)
}

// Close ends nothing: the objects are the repository's.
func (c *commitTree) Close() error { return nil }

// folder reads files as they lie on the disk, and nothing outside of their folder.
type folder struct{ root *os.Root }

func (f *folder) names(ctx context.Context, dir string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st, err := f.root.Lstat(filepath.FromSlash(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !st.IsDir() { // opening a pipe would wait
		err = fmt.Errorf("%s is no folder", dir)
	}
	if err != nil {
		return nil, err
	}
	d, err := f.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	rows, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range rows {
		name := r.Name()
		if r.IsDir() {
			name += "/"
		}
		all = append(all, name)
	}
	return all, nil
}

func (f *folder) read(_ context.Context, path string, limit int) ([]byte, error) {
	st, err := f.root.Lstat(filepath.FromSlash(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	if st.Size() > int64(limit) {
		return nil, fmt.Errorf("%s has %d bytes, the most is %d", path, st.Size(), limit)
	}
	file, err := f.root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(limit)))
}

func (f *folder) Close() error { return f.root.Close() }
