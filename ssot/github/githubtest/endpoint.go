package githubtest

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// routes are the endpoints. A repository's own come after a look-up, under its lock.
func (s *Server) routes() {
	for pattern, f := range map[string]func(*Repository, http.ResponseWriter, *http.Request) error{
		"GET /repos/{owner}/{name}":                           (*Repository).about,
		"GET /repos/{owner}/{name}/git/ref/heads/{branch...}": (*Repository).getRef,
		"POST /repos/{owner}/{name}/git/refs":                 (*Repository).postRef,
		"PATCH /repos/{owner}/{name}/git/refs/heads/{b...}":   (*Repository).patchRef,
		"GET /repos/{owner}/{name}/git/commits/{sha}":         (*Repository).getCommit,
		"POST /repos/{owner}/{name}/git/commits":              (*Repository).postCommit,
		"GET /repos/{owner}/{name}/git/trees/{sha}":           (*Repository).getTree,
		"POST /repos/{owner}/{name}/git/trees":                (*Repository).postTree,
		"GET /repos/{owner}/{name}/git/blobs/{sha}":           (*Repository).getBlob,
		"POST /repos/{owner}/{name}/git/blobs":                (*Repository).postBlob,
		"PUT /repos/{owner}/{name}/contents/{path...}":        (*Repository).putContents,
	} {
		s.mux.HandleFunc(pattern, s.found(f))
	}
	s.mux.HandleFunc("GET /{owner}/{file}/{path...}", s.plain)
	s.forgeRoutes()
}

// found looks the repository up.
func (s *Server) found(f func(*Repository, http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		repo := s.repos[r.PathValue("owner")+"/"+r.PathValue("name")]
		s.mu.Unlock()
		if repo == nil {
			fail(w, http.StatusNotFound, "Not Found", "")
			return
		}
		repo.mu.Lock()
		defer repo.mu.Unlock()
		bare := !strings.Contains(r.URL.Path, "/git/")
		if !bare && repo.empty() {
			fail(w, http.StatusConflict, "Git Repository is empty.", "")
			return
		}
		switch err := f(repo, w, r); {
		case errors.Is(err, errAbsent):
			fail(w, http.StatusNotFound, "Not Found", "")
		case err != nil:
			fail(w, http.StatusUnprocessableEntity, err.Error(), "")
		}
	}
}

// answer writes JSON, or 304 when the client has it already.
func answer(w http.ResponseWriter, r *http.Request, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.Method == http.MethodGet {
		tag := fmt.Sprintf(`W/"%x"`, sha1.Sum(data))
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	w.WriteHeader(code)
	_, err = w.Write(data)
	return err
}

func take(r *http.Request, v any) error {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		return fmt.Errorf("Problems parsing JSON: %w", err) //nolint:staticcheck // GitHub's words
	}
	return nil
}

type object map[string]any

func (r *Repository) about(w http.ResponseWriter, q *http.Request) error {
	clone := "http://" + q.Host + "/" + r.Owner + "/" + r.Name + ".git"
	return answer(w, q, http.StatusOK, object{
		"full_name": r.Owner + "/" + r.Name, "default_branch": r.Default, "clone_url": clone, "private": !r.public,
	})
}

func ref(branch, sha string) object {
	return object{"ref": "refs/heads/" + branch, "object": object{"type": "commit", "sha": sha}}
}

func (r *Repository) getRef(w http.ResponseWriter, q *http.Request) error {
	sha := r.head(q.PathValue("branch"))
	if sha == "" {
		return errAbsent
	}
	return answer(w, q, http.StatusOK, ref(q.PathValue("branch"), sha))
}

func (r *Repository) postRef(w http.ResponseWriter, q *http.Request) error {
	var in struct{ Ref, SHA string }
	if err := take(q, &in); err != nil {
		return err
	}
	branch, ok := strings.CutPrefix(in.Ref, "refs/heads/")
	if !ok || branch == "" {
		return errors.New("Reference name is not valid") //nolint:staticcheck // GitHub's words
	}
	if r.head(branch) != "" {
		return errors.New("Reference already exists") //nolint:staticcheck // GitHub's words
	}
	if _, err := r.objects.commit(in.SHA); err != nil {
		return errors.New("Object does not exist") //nolint:staticcheck // GitHub's words
	}
	if err := r.setHead(branch, in.SHA); err != nil {
		return err
	}
	return answer(w, q, http.StatusCreated, ref(branch, in.SHA))
}

func (r *Repository) patchRef(w http.ResponseWriter, q *http.Request) error {
	var in struct {
		SHA   string
		Force bool
	}
	if err := take(q, &in); err != nil {
		return err
	}
	branch := q.PathValue("b")
	old := r.head(branch)
	if old == "" {
		return errors.New("Reference does not exist") //nolint:staticcheck // GitHub's words
	}
	on, err := r.objects.contains(in.SHA, old)
	if err != nil {
		return errors.New("Object does not exist") //nolint:staticcheck // GitHub's words
	}
	if !on && !in.Force {
		return errors.New("Update is not a fast forward") //nolint:staticcheck // GitHub's words
	}
	if err := r.setHead(branch, in.SHA); err != nil {
		return err
	}
	return answer(w, q, http.StatusOK, ref(branch, in.SHA))
}

func (r *Repository) getCommit(w http.ResponseWriter, q *http.Request) error {
	c, err := r.objects.commit(q.PathValue("sha"))
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusOK, commitForm(q.PathValue("sha"), c))
}

func commitForm(sha string, c commit) object {
	parents := []object{}
	for _, p := range c.parents {
		parents = append(parents, object{"sha": p})
	}
	return object{"sha": sha, "message": c.message, "tree": object{"sha": c.tree}, "parents": parents}
}

func (r *Repository) postCommit(w http.ResponseWriter, q *http.Request) error {
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *person
	}
	if err := take(q, &in); err != nil {
		return err
	}
	if _, err := r.objects.tree(in.Tree); err != nil {
		return errors.New("Tree SHA does not exist") //nolint:staticcheck // GitHub's words
	}
	for _, p := range in.Parents {
		if _, err := r.objects.commit(p); err != nil {
			return errors.New("Parent SHA does not exist or is not a commit object") //nolint:staticcheck // GitHub's words
		}
	}
	author := person{"octocat", "octocat@github.com", time.Now()}
	if in.Author != nil {
		author = *in.Author
	}
	committer := author
	if in.Committer != nil {
		committer = *in.Committer
	}
	c := commit{tree: in.Tree, parents: in.Parents, message: in.Message}
	sha, err := r.objects.writeCommit(c, author, committer)
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusCreated, commitForm(sha, c))
}

func (r *Repository) getTree(w http.ResponseWriter, q *http.Request) error {
	sha := q.PathValue("sha")
	rows, err := r.objects.tree(sha)
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusOK, treeForm(sha, rows))
}

func treeForm(sha string, rows []node) object {
	list := []object{}
	for _, n := range rows {
		list = append(list, object{"path": n.name, "mode": strings.Repeat("0", 6-len(n.mode)) + n.mode, "type": n.kind(), "sha": n.sha})
	}
	return object{"sha": sha, "tree": list, "truncated": false}
}

// treeRow is a file or folder of a tree that a client makes. SHA is null for one that is to go.
type treeRow struct {
	Path, Mode, Type string
	Content          *string
	SHA              json.RawMessage
}

func (r *Repository) postTree(w http.ResponseWriter, q *http.Request) error {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []treeRow
	}
	if err := take(q, &in); err != nil {
		return err
	}
	if in.BaseTree != "" {
		if _, err := r.objects.tree(in.BaseTree); err != nil {
			return errors.New("base_tree is not a valid tree oid")
		}
	}
	var changes []change
	for _, row := range in.Tree {
		c, err := r.change(row)
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	sha, err := r.objects.edit(in.BaseTree, changes)
	if err != nil {
		return err
	}
	rows, err := r.objects.tree(sha)
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusCreated, treeForm(sha, rows))
}

func (r *Repository) change(row treeRow) (c change, err error) {
	if !slices.Contains([]string{"100644", "100755", "040000", "160000", "120000"}, row.Mode) {
		return c, fmt.Errorf("Must supply a valid tree.mode") //nolint:staticcheck // GitHub's words
	}
	c = change{path: row.Path, mode: row.Mode}
	switch {
	case row.Content != nil:
		c.sha, err = r.objects.write("blob", []byte(*row.Content))
		return c, err
	case string(row.SHA) == "null":
		return c, nil
	}
	if err := json.Unmarshal(row.SHA, &c.sha); err != nil {
		return c, errors.New("Must supply either tree.sha or tree.content") //nolint:staticcheck // GitHub's words
	}
	kind := "blob"
	if row.Mode == "040000" {
		kind = "tree"
	}
	if _, err := r.objects.read(kind, c.sha); err != nil && row.Mode != "160000" {
		return c, fmt.Errorf("tree.sha %s is not a valid %s", c.sha, kind)
	}
	return c, nil
}

func (r *Repository) getBlob(w http.ResponseWriter, q *http.Request) error {
	data, err := r.objects.read("blob", q.PathValue("sha"))
	if err != nil {
		return err
	}
	var wrapped bytes.Buffer // GitHub breaks the lines of base64
	for text := base64.StdEncoding.EncodeToString(data); text != ""; {
		n := min(60, len(text))
		wrapped.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return answer(w, q, http.StatusOK, object{"sha": q.PathValue("sha"), "size": len(data), "encoding": "base64", "content": wrapped.String()})
}

func (r *Repository) postBlob(w http.ResponseWriter, q *http.Request) error {
	var in struct{ Content, Encoding string }
	if err := take(q, &in); err != nil {
		return err
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return err
		}
	}
	sha, err := r.objects.write("blob", data)
	if err != nil {
		return err
	}
	return answer(w, q, http.StatusCreated, object{"sha": sha})
}

// putContents makes one file in the default branch, which is how a repository without a commit gets its first one.
func (r *Repository) putContents(w http.ResponseWriter, q *http.Request) error {
	var in struct{ Message, Content, Branch string }
	if err := take(q, &in); err != nil {
		return err
	}
	if in.Branch != "" && in.Branch != r.Default {
		return fmt.Errorf("Branch %s not found", in.Branch) //nolint:staticcheck // GitHub's words
	}
	if !r.empty() {
		return errors.New("Invalid request. \"sha\" wasn't supplied.") //nolint:staticcheck // GitHub's words
	}
	data, err := base64.StdEncoding.DecodeString(in.Content)
	if err != nil {
		return err
	}
	blob, err := r.objects.write("blob", data)
	if err != nil {
		return err
	}
	tree, err := r.objects.edit("", []change{{q.PathValue("path"), "100644", blob}})
	if err != nil {
		return err
	}
	who := person{"octocat", "octocat@github.com", time.Now()}
	sha, err := r.objects.writeCommit(commit{tree: tree, message: in.Message}, who, who)
	if err != nil {
		return err
	}
	if err := r.setHead(r.Default, sha); err != nil {
		return err
	}
	return answer(w, q, http.StatusCreated, object{"commit": object{"sha": sha}})
}

// cloned is the repository that git asks for, nil when there is none.
func (s *Server) cloned(r *http.Request) *Repository {
	name, ok := strings.CutSuffix(r.PathValue("file"), ".git")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok {
		return nil
	}
	return s.repos[r.PathValue("owner")+"/"+name]
}

// plain serves a repository's files, which is all that git needs for a clone over HTTP.
func (s *Server) plain(w http.ResponseWriter, r *http.Request) {
	repo, path := s.cloned(r), r.PathValue("path")
	if repo == nil || !filepath.IsLocal(filepath.FromSlash(path)) {
		http.NotFound(w, r)
		return
	}
	repo.mu.Lock()
	defer repo.mu.Unlock()
	if path == "info/refs" && r.URL.Query().Get("service") == "git-receive-pack" {
		repo.advertise(w, r)
		return
	}
	if path == "info/refs" {
		heads := filepath.Join(repo.Dir, "refs", "heads")
		_ = filepath.WalkDir(heads, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				branch, _ := filepath.Rel(heads, file)
				fmt.Fprintf(w, "%s\trefs/heads/%s\n", repo.head(filepath.ToSlash(branch)), filepath.ToSlash(branch))
			}
			return nil
		})
		return
	}
	data, err := os.ReadFile(filepath.Join(repo.Dir, filepath.FromSlash(path)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}
