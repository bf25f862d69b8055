package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"arbiter/amp"
	"arbiter/providers/bus"
)

// What an agent with a clone of its own asks for beside messages, of a request that it has: the commits that it starts from, and a place for
// those that it made. These are no part of the specification of the bus.

// offering is what such an agent has already.
type offering struct {
	Have []string `json:"have,omitzero"`
}

// arrived is how much of a bundle is here.
type arrived struct {
	Success  bool  `json:"success"`
	Received int64 `json:"received"`
}

// held are the tasks of which such an agent has files, ended those of them that it will not be asked about again.
type held struct {
	Tasks []amp.Workspace `json:"tasks"`
}

type ended struct {
	Success bool         `json:"success"`
	Ended   []amp.TaskID `json:"ended"`
}

// bundleTime bounds how long one bundle may take on its way; within it every piece has writeTime.
const bundleTime = time.Hour

func (b *Bus) repositoryRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /requests/{id}/repository", b.offer)
	mux.HandleFunc("GET /requests/{id}/diff", b.diff)
	mux.Handle("GET /requests/{id}/bundles/{sum}", b.admitted(func(r *http.Request, who bus.Caller) (any, error) {
		n, err := b.cfg.Bus.Arrived(who, agentOf(r), r.PathValue("id"), r.PathValue("sum"))
		return arrived{err == nil, n}, err
	}))
	mux.Handle("POST /tasks/ended", b.admitted(func(r *http.Request, who bus.Caller) (any, error) {
		var in held
		if err := readJSON(r, &in); err != nil {
			return nil, err
		}
		all, err := b.cfg.Bus.Ended(r.Context(), who, agentOf(r), in.Tasks)
		return ended{err == nil, all}, err
	}))
	mux.HandleFunc("PUT /requests/{id}/bundles/{sum}", b.arrive)
}

// offer sends the commit that a request starts from as a bundle.
func (b *Bus) offer(w http.ResponseWriter, r *http.Request) {
	who, _, err := b.caller(r)
	var in offering
	if err == nil {
		err = readJSON(r, &in)
	}
	if err != nil {
		b.fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), bundleTime)
	defer cancel()
	started := false
	err = b.cfg.Bus.Offer(ctx, who, agentOf(r), r.PathValue("id"), in.Have, func() io.Writer {
		started = true
		w.Header().Set("Content-Type", "application/x-git-bundle")
		return &pacedWriter{w, http.NewResponseController(w)}
	})
	switch {
	case err != nil && !started:
		b.fail(w, err)
	case err != nil:
		b.cfg.Logger.Warn("a bundle was not sent", "to", who.Name, "err", err)
		panic(http.ErrAbortHandler) // the answer must not look whole
	}
}

// diff sends the diff that a request is about.
func (b *Bus) diff(w http.ResponseWriter, r *http.Request) {
	who, _, err := b.caller(r)
	if err != nil {
		b.fail(w, err)
		return
	}
	f, err := b.cfg.Bus.Diff(who, agentOf(r), r.PathValue("id"))
	if err != nil {
		b.fail(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/x-diff")
	if _, err := io.Copy(&pacedWriter{w, http.NewResponseController(w)}, f); err != nil {
		b.cfg.Logger.Warn("a diff was not sent", "to", who.Name, "err", err)
		panic(http.ErrAbortHandler) // the answer must not look whole
	}
}

// pacedWriter gives each piece its time.
type pacedWriter struct {
	w  io.Writer
	rc *http.ResponseController
}

func (p *pacedWriter) Write(data []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // a test's recorder has none
	return p.w.Write(data)
}

// pacedReader is the same for what is read, until the time of the whole is over.
type pacedReader struct {
	r     io.Reader
	rc    *http.ResponseController
	until time.Time
}

func (p *pacedReader) Read(data []byte) (int, error) {
	next := time.Now().Add(writeTime)
	if next.After(p.until) {
		next = p.until
	}
	_ = p.rc.SetReadDeadline(next) // as above
	return p.r.Read(data)
}

// arrive takes a bundle, or the rest of one.
func (b *Bus) arrive(w http.ResponseWriter, r *http.Request) {
	who, _, err := b.caller(r)
	if err != nil {
		b.fail(w, err)
		return
	}
	q := r.URL.Query()
	offset, err := strconv.ParseInt(q.Get("offset"), 10, 64)
	size, err2 := strconv.ParseInt(q.Get("size"), 10, 64)
	if err = errors.Join(err, err2); err != nil || offset < 0 {
		b.fail(w, badRequest("offset and size are numbers of bytes"))
		return
	}
	body := &pacedReader{r.Body, http.NewResponseController(w), time.Now().Add(bundleTime)}
	n, err := b.cfg.Bus.Arrive(who, agentOf(r), r.PathValue("id"), r.PathValue("sum"), offset, size, body)
	if err != nil {
		b.fail(w, err)
		return
	}
	b.write(w, http.StatusOK, arrived{true, n})
}
