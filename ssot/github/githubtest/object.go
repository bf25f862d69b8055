package githubtest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errAbsent says that an object is not there.
var errAbsent = errors.New("no such object")

var shaForm = regexp.MustCompile(`^[0-9a-f]{40}$`)

// objects is the folder of a bare repository's objects, each in a file of its own.
type objects struct{ dir string }

func (o objects) file(sha string) string { return filepath.Join(o.dir, sha[:2], sha[2:]) }

// write stores an object as git does, once, and returns its name.
func (o objects) write(kind string, content []byte) (string, error) {
	head := fmt.Sprintf("%s %d\x00", kind, len(content))
	sum := sha1.New()
	sum.Write([]byte(head))
	sum.Write(content)
	sha := hex.EncodeToString(sum.Sum(nil))
	if _, err := os.Stat(o.file(sha)); err == nil {
		return sha, nil
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		return "", err
	}
	_, err1 := io.WriteString(z, head)
	_, err2 := z.Write(content)
	if err := errors.Join(err1, err2, z.Close(), os.MkdirAll(filepath.Dir(o.file(sha)), 0o755)); err != nil {
		return "", err
	}
	return sha, os.WriteFile(o.file(sha), packed.Bytes(), 0o444)
}

// read returns an object of a kind.
func (o objects) read(kind, sha string) ([]byte, error) {
	if !shaForm.MatchString(sha) {
		return nil, errAbsent
	}
	f, err := os.Open(o.file(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	head, content, _ := bytes.Cut(all, []byte{0})
	if !strings.HasPrefix(string(head), kind+" ") {
		return nil, errAbsent
	}
	return content, nil
}

// node is one row of a tree.
type node struct{ mode, name, sha string }

func (n node) kind() string {
	switch n.mode {
	case "40000":
		return "tree"
	case "160000":
		return "commit"
	}
	return "blob"
}

// order is git's: a folder stands where its name with a slash would.
func (n node) order() string {
	if n.kind() == "tree" {
		return n.name + "/"
	}
	return n.name
}

func (o objects) tree(sha string) ([]node, error) {
	data, err := o.read("tree", sha)
	if err != nil {
		return nil, err
	}
	var rows []node
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || len(rest) < sha1.Size {
			return nil, fmt.Errorf("tree %s is damaged", sha)
		}
		rows = append(rows, node{mode, name, hex.EncodeToString(rest[:sha1.Size])})
		data = rest[sha1.Size:]
	}
	return rows, nil
}

func (o objects) writeTree(rows []node) (string, error) {
	slices.SortFunc(rows, func(a, b node) int { return strings.Compare(a.order(), b.order()) })
	var b bytes.Buffer
	for _, n := range rows {
		sha, err := hex.DecodeString(n.sha)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\x00%s", n.mode, n.name, sha)
	}
	return o.write("tree", b.Bytes())
}

// change is a file or folder that a tree is to have; with an empty sha it goes.
type change struct{ path, mode, sha string }

// edit is a tree with changes; base may be empty.
func (o objects) edit(base string, changes []change) (string, error) {
	rows := map[string]node{}
	if base != "" {
		old, err := o.tree(base)
		if err != nil {
			return "", err
		}
		for _, n := range old {
			rows[n.name] = n
		}
	}
	below := map[string][]change{}
	for _, c := range changes {
		name, rest, deeper := strings.Cut(c.path, "/")
		switch {
		case name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git"):
			return "", fmt.Errorf("tree.path contains a malformed path component")
		case deeper:
			below[name] = append(below[name], change{rest, c.mode, c.sha})
		case c.sha == "":
			delete(rows, name)
		default:
			rows[name] = node{strings.TrimPrefix(c.mode, "0"), name, c.sha}
		}
	}
	for name, list := range below {
		from := ""
		if n, ok := rows[name]; ok && n.kind() == "tree" {
			from = n.sha
		}
		sha, err := o.edit(from, list)
		if err != nil {
			return "", err
		}
		if got, err := o.tree(sha); err == nil && len(got) == 0 {
			delete(rows, name)
			continue
		}
		rows[name] = node{"40000", name, sha}
	}
	list := make([]node, 0, len(rows))
	for _, n := range rows {
		list = append(list, n)
	}
	return o.writeTree(list)
}

// commit is what the fake knows of one.
type commit struct {
	tree    string
	parents []string
	message string
}

// person is who made a commit, and when.
type person struct {
	Name  string    `json:"name"`
	Email string    `json:"email"`
	Date  time.Time `json:"date"`
}

func (p person) line() string {
	return p.Name + " <" + p.Email + "> " + strconv.FormatInt(p.Date.Unix(), 10) + " +0000"
}

func (o objects) writeCommit(c commit, author, committer person) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s\n", author.line(), committer.line(), strings.TrimRight(c.message, "\n"))
	return o.write("commit", []byte(b.String()))
}

func (o objects) commit(sha string) (c commit, err error) {
	data, err := o.read("commit", sha)
	if err != nil {
		return c, err
	}
	head, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(head) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		}
	}
	c.message = strings.TrimRight(message, "\n")
	return c, nil
}

// contains reports whether a commit is another or comes after it.
func (o objects) contains(sha, old string) (bool, error) {
	seen := map[string]bool{}
	for todo := []string{sha}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == old {
			return true, nil
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		c, err := o.commit(at)
		if err != nil {
			return false, err
		}
		todo = append(todo, c.parents...)
	}
	return false, nil
}
