package github

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"arbiter/forge"
)

// PublicAPI is where GitHub itself answers.
const PublicAPI = "https://api.github.com/"

var (
	// errNoBranch says that the branch is not there, errEmpty that the repository has no commit at all.
	errNoBranch = errors.New("the branch is not there")
	errEmpty    = errors.New("the repository is empty")
)

// remote is one branch of a repository.
type remote struct {
	client              *gh.Client
	http                *forge.Transport
	owner, name, branch string
}

// row is one row of a tree.
type row struct{ path, mode, kind, sha string }

// file is one file of a commit.
type file struct {
	path string
	data []byte
}

func newRemote(c *Config) (*remote, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is no address of an API, as %s", c.URL, PublicAPI)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base.Path += "/"
	}
	owner, name, ok := strings.Cut(c.Repo, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is no repository, as owner/name", c.Repo)
	}
	t := &forge.Transport{Base: c.Transport, Origin: forge.Origin(base), Gap: c.Gap}
	r := &remote{http: t, owner: owner, name: name, branch: c.Branch}
	r.client = gh.NewClient(t.Client())
	r.client.BaseURL, r.client.UserAgent = base, "arbiter-mirror"
	return r, nil
}

// answerError says that an answer is none of GitHub's API, though it was no error.
type answerError struct{ why string }

func (e *answerError) Error() string { return e.why }

// nonsense reports whether an error is about an answer that is no answer.
func nonsense(err error) (why string, is bool) {
	if x, ok := errors.AsType[*answerError](err); ok {
		return x.why, true
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, form := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || form || errors.Is(err, io.ErrUnexpectedEOF) {
		return "its answer is not what was asked for, or was cut off", true
	}
	return "", false
}

// asked wants an answer to be about the object that was asked for.
func asked(got, want string) error {
	if got != want {
		return &answerError{fmt.Sprintf("it was asked for %.12s and answered with %.12q", want, got)}
	}
	return nil
}

// status is the code of an answer that was an error, 0 when there was none.
func status(err error) int {
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok && e.Response != nil {
		return e.Response.StatusCode
	}
	return 0
}

// head is the commit of the branch.
func (r *remote) head(ctx context.Context) (string, error) {
	ref, _, err := r.client.Git.GetRef(ctx, r.owner, r.name, "heads/"+r.branch)
	switch {
	case status(err) == http.StatusConflict && mentions(err.Error(), "empty"):
		return "", errEmpty
	case status(err) == http.StatusNotFound:
		// The repository may be out of sight too, which is another trouble.
		if _, err := r.public(ctx); err != nil {
			return "", err
		}
		return "", errNoBranch
	case err != nil:
		return "", err
	}
	if err := asked(ref.GetRef(), "refs/heads/"+r.branch); err != nil {
		return "", err
	}
	return hexSHA(ref.GetObject().GetSHA())
}

// public reports whether everybody may read the repository.
func (r *remote) public(ctx context.Context) (bool, error) {
	repo, _, err := r.client.Repositories.Get(ctx, r.owner, r.name)
	if err == nil && (repo.GetFullName() == "" || repo.Private == nil) {
		err = &answerError{"it tells nothing of the repository"}
	}
	return err == nil && !repo.GetPrivate(), err
}

// hexSHA refuses what is no name of an object, since it becomes a part of an address.
func hexSHA(sha string) (string, error) {
	if len(sha) != 40 || strings.Trim(sha, "0123456789abcdef") != "" {
		return "", &answerError{fmt.Sprintf("it answered with %.60q, which is no commit or tree", sha)}
	}
	return sha, nil
}

func (r *remote) treeOf(ctx context.Context, commit string) (string, error) {
	c, _, err := r.client.Git.GetCommit(ctx, r.owner, r.name, commit)
	if err == nil {
		err = asked(c.GetSHA(), commit)
	}
	if err != nil {
		return "", err
	}
	return hexSHA(c.GetTree().GetSHA())
}

// has reports whether a commit is in the repository.
func (r *remote) has(ctx context.Context, commit string) (bool, error) {
	got, _, err := r.client.Git.GetCommit(ctx, r.owner, r.name, commit)
	if err == nil {
		err = asked(got.GetSHA(), commit)
	}
	if c := status(err); c == http.StatusNotFound || c == http.StatusUnprocessableEntity {
		return false, nil
	}
	return err == nil, err
}

func (r *remote) tree(ctx context.Context, sha string) ([]row, error) {
	t, _, err := r.client.Git.GetTree(ctx, r.owner, r.name, sha, false)
	if err == nil {
		err = asked(t.GetSHA(), sha)
	}
	if err != nil {
		return nil, err
	}
	if t.GetTruncated() {
		return nil, fmt.Errorf("tree %s has more rows than the service shows", sha)
	}
	return rowsOf(t)
}

// holds reports whether a file is in the tree of the folder that its path begins with.
func (r *remote) holds(ctx context.Context, tree, path string) (bool, error) {
	_, rest, _ := strings.Cut(path, "/")
	for tree != "" {
		rows, err := r.tree(ctx, tree)
		if err != nil {
			return false, err
		}
		name, below, deeper := strings.Cut(rest, "/")
		i := slices.IndexFunc(rows, func(w row) bool { return w.path == name })
		if i < 0 || !deeper {
			return i >= 0, nil
		}
		tree, rest = rows[i].sha, below
	}
	return false, nil
}

func rowsOf(t *gh.Tree) ([]row, error) {
	var rows []row
	for _, e := range t.Entries {
		sha, err := hexSHA(e.GetSHA())
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{e.GetPath(), e.GetMode(), e.GetType(), sha})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.path, b.path) })
	return rows, nil
}

func (r *remote) blob(ctx context.Context, sha string) ([]byte, error) {
	b, _, err := r.client.Git.GetBlob(ctx, r.owner, r.name, sha)
	if err != nil {
		return nil, err
	}
	data := []byte(b.GetContent())
	if b.GetEncoding() == "base64" {
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", "")); err != nil {
			return nil, &answerError{"a file in its answer cannot be read"}
		}
	}
	return data, asked(sumObject("blob", data, len(sha)), sha)
}

// maxInline is the most of a file that goes into the request for its tree; a larger one gets a request of its own.
const maxInline = 2 << 20

// write makes a tree of files upon a base, which may be empty, with rows that are there already, and returns it with its own rows.
func (r *remote) write(ctx context.Context, base string, keep []row, files []file) (sha string, rows []row, err error) {
	var entries []*gh.TreeEntry
	for _, k := range keep {
		entries = append(entries, &gh.TreeEntry{Path: &k.path, Mode: &k.mode, Type: &k.kind, SHA: &k.sha})
	}
	for _, f := range files {
		e := &gh.TreeEntry{Path: new(f.path), Mode: new("100644"), Type: new("blob")}
		if len(f.data) <= maxInline {
			e.Content = new(string(f.data))
		} else {
			b, _, err := r.client.Git.CreateBlob(ctx, r.owner, r.name, &gh.Blob{
				Encoding: new("base64"), Content: new(base64.StdEncoding.EncodeToString(f.data)),
			})
			if err == nil {
				err = asked(b.GetSHA(), sumObject("blob", f.data, sha1.Size*2))
			}
			if err != nil {
				return "", nil, err
			}
			e.SHA = b.SHA
		}
		entries = append(entries, e)
	}
	t, _, err := r.client.Git.CreateTree(ctx, r.owner, r.name, base, entries)
	if err != nil {
		return "", nil, err
	}
	if sha, err = hexSHA(t.GetSHA()); err != nil {
		return "", nil, err
	}
	rows, err = rowsOf(t)
	return sha, rows, err
}

// writer is who makes the commits.
const (
	writerName  = "arbiter"
	writerEmail = "arbiter@arbiter.invalid"
)

// commit makes a commit, which no branch names yet. parent may be empty.
func (r *remote) commit(ctx context.Context, tree, parent, message string, at time.Time) (string, error) {
	who := &gh.CommitAuthor{Name: new(writerName), Email: new(writerEmail), Date: &gh.Timestamp{Time: at}}
	c := &gh.Commit{Message: &message, Tree: &gh.Tree{SHA: &tree}, Author: who, Committer: who}
	if parent != "" {
		c.Parents = []*gh.Commit{{SHA: &parent}}
	}
	made, _, err := r.client.Git.CreateCommit(ctx, r.owner, r.name, c, nil)
	if err != nil {
		return "", err
	}
	return hexSHA(made.GetSHA())
}

// advance moves the branch to a commit that follows its head, or makes the branch. It never forces.
func (r *remote) advance(ctx context.Context, commit string, there bool) error {
	ref := &gh.Reference{Ref: new("refs/heads/" + r.branch), Object: &gh.GitObject{SHA: &commit}}
	var now *gh.Reference
	var err error
	if there {
		now, _, err = r.client.Git.UpdateRef(ctx, r.owner, r.name, ref, false)
	} else {
		now, _, err = r.client.Git.CreateRef(ctx, r.owner, r.name, ref)
	}
	if err != nil {
		return err
	}
	return asked(now.GetObject().GetSHA(), commit)
}

// first gives an empty repository its first commit: nothing else can be written before.
func (r *remote) first(ctx context.Context, readme []byte) error {
	_, _, err := r.client.Repositories.CreateFile(ctx, r.owner, r.name, readmeFile, &gh.RepositoryContentFileOptions{
		Message: new("Begin the mirror of a journal"), Content: readme,
	})
	return err
}

// CloneURL is the address that git clones a repository from, told from the address of the API; empty is GitHub itself.
func CloneURL(api, repo string) string {
	base := "https://github.com/"
	if u, err := url.Parse(api); err == nil && u.Host != "" && api != PublicAPI {
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v3") + "/"
		base = u.String()
	}
	return base + repo + ".git"
}
