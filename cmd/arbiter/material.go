package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/api"
)

// differ shows what changed on a task's branch.
type differ interface {
	Diff(ctx context.Context, w amp.Workspace, from, to string, how amp.DiffOptions) (amp.Diff, error)
}

// material is what a model behind an API gets to see: a reviewer the whole change, file by file, a planner a look at the repository.
func material(git differ) func(context.Context, providers.Turn) ([]api.Part, error) {
	return func(ctx context.Context, turn providers.Turn) ([]api.Part, error) {
		if turn.Role == amp.Reviewer {
			return changeOf(ctx, git, turn.Work)
		}
		return lookAt(turn.Dir)
	}
}

// reviewContext is how many unchanged lines stand around a change that is reviewed without its files, maxChange the most bytes that are read of
// one: more than any model is sent.
const (
	reviewContext = 12
	maxChange     = 64 << 20
)

// changeOf is the change from base to tip, each file a part. Where the text of all files is too much at once, each is read by itself; what
// even then is cut is said.
func changeOf(ctx context.Context, git differ, w amp.Workspace) ([]api.Part, error) {
	how := amp.DiffOptions{Context: reviewContext}
	d, err := git.Diff(ctx, w, "", "", how)
	if err != nil {
		return nil, err
	}
	var parts []api.Part
	if text, missing := apart(d.Text); missing == "" {
		for _, one := range files(text) {
			parts = append(parts, api.Part{Name: nameOf(one), Text: one})
		}
	} else {
		total := 0
		for _, f := range d.Files {
			if total > maxChange {
				parts = append(parts, api.Part{Name: f.Path, Missing: fmt.Sprintf("it comes after %d bytes of other changes", total)})
				continue
			}
			how.Path = f.Path
			one, err := git.Diff(ctx, w, d.From, d.To, how)
			if err != nil {
				return nil, err
			}
			text, missing := apart(one.Text)
			total += len(text)
			if text == "" && missing == "" {
				missing = "its change cannot be shown"
			}
			parts = append(parts, api.Part{Name: f.Path, Text: text, Missing: missing})
		}
	}
	if d.MoreFiles > 0 {
		parts = append(parts, api.Part{Name: "more files", Missing: fmt.Sprintf("%d more changed files are not listed", d.MoreFiles)})
	}
	if len(parts) == 0 {
		parts = append(parts, api.Part{Name: "the change", Text: "Nothing differs from the base."})
	}
	return parts, nil
}

// apart takes the lines out of a diff that say what was cut: no line of a diff begins as they do.
func apart(diff string) (text, missing string) {
	var b strings.Builder
	var cuts []string
	for line := range strings.Lines(diff) {
		if after, ok := strings.CutPrefix(line, "… cut: "); ok {
			cuts = append(cuts, strings.TrimSpace(after))
			continue
		}
		b.WriteString(line)
	}
	return b.String(), strings.Join(cuts, "; ")
}

var fileStart = regexp.MustCompile(`(?m)^diff --(git|cc|combined) `)

// files takes a diff apart, file by file.
func files(diff string) []string {
	var out []string
	starts := fileStart.FindAllStringIndex(diff, -1)
	for i, at := range starts {
		end := len(diff)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		out = append(out, diff[at[0]:end])
	}
	return out
}

// nameOf is the file that a diff is about, as its first line names it.
func nameOf(diff string) string {
	line, _, _ := strings.Cut(diff, "\n")
	if i := strings.LastIndex(line, " b/"); i >= 0 {
		return strings.ToValidUTF8(line[i+3:], "\uFFFD")
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// What a planner sees of a repository is bounded.
const (
	maxListed = 5000
	maxHead   = 8 << 10
	maxHeads  = 24
)

// telling are files whose beginnings say what a repository is.
var telling = regexp.MustCompile(`(?i)^(readme|architecture|contributing|agents|claude|design)(\.[a-z]+)?$|^(go\.mod|package\.json|pyproject\.toml|cargo\.toml|makefile|arbiter\.toml)$`)

// lookAt lists the files of a folder and shows the beginnings of those that say most, at the top and one level below. Nothing outside of the
// folder is read, whatever links are in it.
func lookAt(dir string) ([]api.Part, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the repository: %w", err)
	}
	defer root.Close()
	var list strings.Builder
	var heads []api.Part
	count := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // a folder that cannot be read is left out
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		count++
		if count <= maxListed {
			list.WriteString(strings.ToValidUTF8(name, "\uFFFD") + "\n")
		}
		if d.Type().IsRegular() && strings.Count(name, "/") < 2 && len(heads) < maxHeads && telling.MatchString(path.Base(name)) {
			if text, err := head(root, name); err == nil {
				heads = append(heads, api.Part{Name: "The beginning of " + name, Text: text})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at the repository: %w", err)
	}
	if count > maxListed {
		fmt.Fprintf(&list, "… and %d more\n", count-maxListed)
	}
	return append(heads, api.Part{Name: "The files of the repository", Text: list.String()}), nil
}

// head is the beginning of a text file.
func head(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHead+1))
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(string(b), 0) {
		return "", errors.New("is no text")
	}
	if len(b) > maxHead {
		return strings.ToValidUTF8(string(b[:maxHead]), "") + "\n…", nil
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}
