package github

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// checkedOut wants the files of the mirror in a work tree to be those of its commit: what was compared is what is in the repository too.
func (c *Clone) checkedOut(ctx context.Context) error {
	disk, ok := c.files.(*folder)
	if !ok || c.repo == nil {
		return nil
	}
	for _, name := range ours {
		if err := c.sameAs(ctx, disk, c.root, "", name); err != nil {
			return err
		}
	}
	return nil
}

// other is the difference that the disk holds another thing than the commit at a path.
func other(path string) error {
	return &Difference{
		Seq: seqOf(path), Where: path,
		What: "the files in the folder are other than those of the commit: git status says how; git checkout -- . puts those of the commit there",
	}
}

// sameAs compares one name in a tree of the commit with the disk.
func (c *Clone) sameAs(ctx context.Context, disk *folder, tree, dir, name string) error {
	rows, err := c.repo.objects.tree(tree)
	if err != nil {
		return &Difference{What: err.Error(), Where: "commit " + c.Commit}
	}
	path := strings.TrimPrefix(dir+"/"+name, "/")
	at, ok := rowOf(rows, name)
	if ok && at.isDir() {
		return c.sameFolder(ctx, disk, at.id, path)
	}
	data, err := disk.read(ctx, path, maxTask)
	switch {
	case err != nil:
		return &Difference{What: err.Error(), Where: path}
	case ok != (data != nil) || ok && (!at.isFile() || sumObject("blob", data, len(at.id)) != at.id):
		return other(path)
	}
	return nil
}

func (c *Clone) sameFolder(ctx context.Context, disk *folder, tree, path string) error {
	names, err := disk.names(ctx, path)
	if err != nil {
		return &Difference{What: err.Error(), Where: path}
	}
	there, err := (&commitTree{c.repo.objects, c.root}).names(ctx, path)
	if err != nil {
		return &Difference{What: err.Error(), Where: fmt.Sprintf("%s in commit %s", path, c.Commit)}
	}
	slices.Sort(names)
	slices.Sort(there)
	if !slices.Equal(names, there) {
		return other(path)
	}
	for _, name := range names {
		if err := c.sameAs(ctx, disk, tree, path, strings.TrimSuffix(name, "/")); err != nil {
			return err
		}
	}
	return nil
}
