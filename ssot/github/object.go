package github

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// What one object has at most; a blob has the bound of the file that it is.
const (
	maxCommit = 1 << 20
	maxTree   = 64 << 20
	// maxTrees bounds the trees that are kept for the next question.
	maxTrees = 32 << 20
)

// errMissing says that an object is not in the repository.
var errMissing = errors.New("it is not in the repository")

// objects reads objects one after the other through one process of git, and believes no name: what is returned has the hash that it was
// asked by. After an error the process is of no more use.
type objects struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// trees are some that were read, treeBytes is how large they are.
	trees     map[string][]treeRow
	treeBytes int
}

func startObjects(cmd *exec.Cmd) (*objects, error) {
	o := &objects{cmd: cmd, trees: map[string][]treeRow{}}
	var err error
	if o.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 1<<16)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run git: %w", err)
	}
	return o, nil
}

// read is the content of an object.
func (o *objects) read(id, kind string, limit int) ([]byte, error) {
	damaged := fmt.Errorf("git cannot read the %s %s: the repository is damaged there, or the object is too large", kind, id)
	if !objectID(id) {
		return nil, fmt.Errorf("%.80q is the name of no object", id)
	}
	if _, err := io.WriteString(o.in, id+"\n"); err != nil {
		return nil, damaged
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		return nil, damaged
	}
	words := strings.Fields(head)
	switch {
	case len(words) == 2 && words[1] == "missing":
		return nil, fmt.Errorf("the %s %s cannot be read: %w", kind, id, errMissing)
	case len(words) != 3:
		return nil, damaged
	case words[1] != kind:
		return nil, fmt.Errorf("%s is a %s in place of a %s", id, words[1], kind)
	}
	size, err := strconv.Atoi(words[2])
	if err != nil || size < 0 || size > limit {
		return nil, fmt.Errorf("the %s %s has %s bytes, the most is %d", kind, id, words[2], limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return nil, damaged
	}
	data = data[:size]
	if sumObject(kind, data, len(id)) != id {
		return nil, fmt.Errorf("the content of the %s %s does not have its hash: the repository is damaged there, or forged", kind, id)
	}
	return data, nil
}

// objectID reports whether text is a name of an object, in one of the two formats.
func objectID(text string) bool {
	if len(text) != 2*sha1.Size && len(text) != 2*sha256.Size {
		return false
	}
	return strings.Trim(text, "0123456789abcdef") == ""
}

// sumObject is the name of an object, in the format whose names are as long.
func sumObject(kind string, data []byte, length int) string {
	h := sha256.New()
	if length == 2*sha1.Size {
		h = sha1.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// commitOf is what a commit says: its tree and its parents.
type commitOf struct {
	tree    string
	parents []string
}

func (o *objects) commit(id string) (c commitOf, err error) {
	data, err := o.read(id, "commit", maxCommit)
	if err != nil {
		return c, err
	}
	for row := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(row), "\n"), " ")
		switch {
		case key == "tree" && c.tree == "" && objectID(value):
			c.tree = value
		case key == "parent" && c.tree != "" && objectID(value):
			c.parents = append(c.parents, value)
		case c.tree == "":
			return c, fmt.Errorf("the commit %s has no tree", id)
		default:
			return c, nil
		}
	}
	return c, nil
}

// treeRow is one row of a tree.
type treeRow struct{ mode, name, id string }

func (r treeRow) isDir() bool { return r.mode == "40000" }

// isFile reports a plain file: no link, no other repository.
func (r treeRow) isFile() bool { return strings.HasPrefix(r.mode, "100") }

// tree is the rows of a tree in their order, in which no name is twice.
func (o *objects) tree(id string) ([]treeRow, error) {
	if rows, ok := o.trees[id]; ok {
		return rows, nil
	}
	data, err := o.read(id, "tree", maxTree)
	if err != nil {
		return nil, err
	}
	var rows []treeRow
	last, size, seen := "", len(data), map[string]bool{}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(rest) < len(id)/2 {
			return nil, fmt.Errorf("the tree %s cannot be read", id)
		}
		r := treeRow{mode, name, hex.EncodeToString(rest[:len(id)/2])}
		data = rest[len(id)/2:]
		key := name
		if r.isDir() {
			key += "/"
		}
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || key <= last || seen[name] {
			return nil, fmt.Errorf("the tree %s has a name that no git writes, or twice, or out of order: %.80q", id, name)
		}
		last, seen[name] = key, true
		rows = append(rows, r)
	}
	if o.treeBytes += size; o.treeBytes > maxTrees {
		clear(o.trees)
		o.treeBytes = size
	}
	o.trees[id] = rows
	return rows, nil
}

// find is what a path below a tree is, ok when it is there.
func (o *objects) find(tree, path string) (r treeRow, ok bool, err error) {
	r = treeRow{mode: "40000", id: tree}
	for name := range strings.SplitSeq(path, "/") {
		if !r.isDir() {
			return r, false, nil
		}
		rows, err := o.tree(r.id)
		if err != nil {
			return r, false, err
		}
		if r, ok = rowOf(rows, name); !ok {
			return r, false, nil
		}
	}
	return r, true, nil
}

func rowOf(rows []treeRow, name string) (treeRow, bool) {
	for _, r := range rows {
		if r.name == name {
			return r, true
		}
	}
	return treeRow{}, false
}

func (o *objects) close() error {
	err := o.in.Close()
	_ = o.cmd.Process.Kill() // it may be in the midst of an object that nobody wants
	_ = o.cmd.Wait()         // how it ended was seen while reading
	return err
}
