package github

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"arbiter/forge"
)

// gitRead runs git on a repository that others made: it reads objects, takes no configuration that could start a program or fetch, and
// sees no replaced objects and no grafts.
type gitRead struct{ dir string }

// gitReadEnv is all that git gets to see.
func gitReadEnv() []string {
	env := []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat",
		"GIT_GRAFT_FILE=" + os.DevNull, "GIT_SSH_COMMAND=false", "GIT_ASKPASS=false",
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (g gitRead) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append([]string{
		"-C", g.dir, "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.quotePath=false", "-c", "advice.graftFileDeprecated=false",
	}, args...)
	cmd := exec.CommandContext(ctx, "git", all...)
	cmd.Env = gitReadEnv()
	return cmd
}

// maxListing bounds what one command prints.
const maxListing = 256 << 20

func (g gitRead) run(ctx context.Context, args ...string) (string, error) {
	cmd := g.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("run git: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(out, maxListing+1))
	if len(text) > maxListing {
		err = errors.Join(fmt.Errorf("git %s prints more than %d bytes", args[0], maxListing), cmd.Process.Kill())
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("git %s: %s", args[0], forge.Plain(errors.New(firstOf(stderr.String(), ended.Error()))))
	}
	return string(text), err
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// objectsOf reads objects of a repository one after the other through one process.
type objectsOf struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (g gitRead) objects(ctx context.Context) (*objectsOf, error) {
	o := &objectsOf{cmd: g.command(ctx, "cat-file", "--batch")}
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 1<<16)
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run git: %w", err)
	}
	return o, nil
}

// blob is the content of a name such as COMMIT:PATH; nil when there is none. After an error the process is of no more use.
func (o *objectsOf) blob(name string, limit int) ([]byte, error) {
	if strings.ContainsAny(name, "\n\x00") {
		return nil, fmt.Errorf("%q is no name", name)
	}
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return nil, fmt.Errorf("git cannot read %s: the repository is damaged there", name)
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("git cannot read %s: the repository is damaged there", name)
	}
	words := strings.Fields(head)
	if n := len(words); n > 0 && words[n-1] == "missing" {
		return nil, nil
	}
	if len(words) != 3 || words[1] != "blob" {
		return nil, fmt.Errorf("%s is no file", name)
	}
	size, err := strconv.Atoi(words[2])
	if err != nil || size < 0 || size > limit {
		return nil, fmt.Errorf("%s has %s bytes, the most is %d", name, words[2], limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return nil, fmt.Errorf("git cannot read %s: the repository is damaged there", name)
	}
	return data[:size], nil
}

func (o *objectsOf) Close() error {
	err := o.in.Close()
	_, _ = io.Copy(io.Discard, o.out)
	_ = o.cmd.Wait() // how it ended was seen while reading
	return err
}

// tree is where the files of a mirror are read from.
type tree interface {
	// names are the rows of a folder in order, folders with a slash at the end; none when there is no such folder.
	names(ctx context.Context, dir string) ([]string, error)
	// read is the content of a file, nil when it is not there.
	read(ctx context.Context, path string, limit int) ([]byte, error)
	Close() error
}

// commitTree reads a commit.
type commitTree struct {
	git     gitRead
	commit  string
	objects *objectsOf
}

func (c *commitTree) names(ctx context.Context, dir string) ([]string, error) {
	out, err := c.git.run(ctx, "ls-tree", "-z", "--full-tree", c.commit, dir+"/")
	if err != nil {
		return nil, err
	}
	var all []string
	for row := range strings.SplitSeq(out, "\x00") {
		meta, path, ok := strings.Cut(row, "\t")
		if !ok {
			continue
		}
		name := strings.TrimPrefix(path, dir+"/")
		if strings.Contains(meta, " tree ") {
			name += "/"
		}
		all = append(all, name)
	}
	return all, nil
}

func (c *commitTree) read(_ context.Context, path string, limit int) ([]byte, error) {
	return c.objects.blob(c.commit+":"+path, limit)
}

func (c *commitTree) Close() error { return c.objects.Close() }

// folder reads files as they lie on the disk, and nothing outside of their folder.
type folder struct{ root *os.Root }

func (f *folder) names(_ context.Context, dir string) ([]string, error) {
	d, err := f.root.Open(filepath.FromSlash(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
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
