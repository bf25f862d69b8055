package githubtest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Repository is one repository of the fake: a bare one on the disk, which plain git can clone and check.
type Repository struct {
	// Dir is the bare repository, Owner and Name are what it is called.
	Dir, Owner, Name string
	// Default is its default branch.
	Default string

	mu      sync.Mutex
	objects objects
	forge   forgeState
	public  bool
}

func newRepository(dir, owner, name string) (*Repository, error) {
	r := &Repository{Dir: filepath.Join(dir, owner, name+".git"), Owner: owner, Name: name, Default: "main"}
	return r, r.make()
}

func (r *Repository) make() error {
	r.objects = objects{filepath.Join(r.Dir, "objects")}
	return errors.Join(
		os.MkdirAll(filepath.Join(r.Dir, "objects", "info"), 0o755), os.MkdirAll(filepath.Join(r.Dir, "refs", "heads"), 0o755),
		os.WriteFile(filepath.Join(r.Dir, "HEAD"), []byte("ref: refs/heads/"+r.Default+"\n"), 0o644),
		os.WriteFile(filepath.Join(r.Dir, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"), 0o644),
	)
}

// Empty makes the repository as it was when it was created: without a commit.
func (r *Repository) Empty() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	return r.make()
}

// SetPublic lets everybody read the repository, or nobody.
func (r *Repository) SetPublic(public bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.public = public
}

// Head is the commit of a branch, empty when there is no such branch.
func (r *Repository) Head(branch string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head(branch)
}

func (r *Repository) head(branch string) string {
	data, err := os.ReadFile(r.refFile(branch))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func (r *Repository) refFile(branch string) string {
	return filepath.Join(r.Dir, "refs", "heads", filepath.FromSlash(branch))
}

func (r *Repository) setHead(branch, sha string) error {
	file := r.refFile(branch)
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(sha+"\n"), 0o644))
}

// SetHead moves a branch as a forced push does.
func (r *Repository) SetHead(branch, sha string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.setHead(branch, sha)
}

// Delete removes a branch.
func (r *Repository) Delete(branch string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.Remove(r.refFile(branch))
}

// Commit writes files into a branch as somebody else would, also into one that is not there. A nil content removes the file or folder.
func (r *Repository) Commit(branch, message string, files map[string][]byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := commit{message: message}
	base := ""
	if head := r.head(branch); head != "" {
		old, err := r.objects.commit(head)
		if err != nil {
			return "", err
		}
		base, c.parents = old.tree, []string{head}
	}
	var changes []change
	for _, path := range slices.Sorted(maps.Keys(files)) {
		x := change{path: path, mode: "100644"}
		if files[path] != nil {
			var err error
			if x.sha, err = r.objects.write("blob", files[path]); err != nil {
				return "", err
			}
		}
		changes = append(changes, x)
	}
	var err error
	if c.tree, err = r.objects.edit(base, changes); err != nil {
		return "", err
	}
	who := person{"Somebody", "somebody@example.com", time.Unix(1760000000, 0)}
	sha, err := r.objects.writeCommit(c, who, who)
	if err != nil {
		return "", err
	}
	return sha, r.setHead(branch, sha)
}

// File is the content of a file at the head of a branch.
func (r *Repository) File(branch, path string) ([]byte, error) {
	files, err := r.Files(branch)
	if err != nil {
		return nil, err
	}
	data, ok := files[path]
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return data, nil
}

// Files are all files at the head of a branch.
func (r *Repository) Files(branch string) (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.objects.commit(r.head(branch))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	return files, r.collect(files, "", c.tree)
}

func (r *Repository) collect(files map[string][]byte, prefix, tree string) error {
	rows, err := r.objects.tree(tree)
	if err != nil {
		return err
	}
	for _, n := range rows {
		if n.kind() == "tree" {
			if err := r.collect(files, prefix+n.name+"/", n.sha); err != nil {
				return err
			}
			continue
		}
		data, err := r.objects.read("blob", n.sha)
		if err != nil {
			return err
		}
		files[prefix+n.name] = data
	}
	return nil
}

// Log are the commits of a branch along the first parents, the newest first.
func (r *Repository) Log(branch string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for at := r.head(branch); at != ""; {
		all = append(all, at)
		c, err := r.objects.commit(at)
		if err != nil {
			return nil, err
		}
		at = ""
		if len(c.parents) > 0 {
			at = c.parents[0]
		}
	}
	return all, nil
}

// empty reports whether nothing was ever written to the repository.
func (r *Repository) empty() bool {
	rows, err := os.ReadDir(r.objects.dir)
	return err == nil && len(rows) <= 1
}
