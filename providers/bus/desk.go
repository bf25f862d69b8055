package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json"
)

// Repository is how commits go to an agent on another machine and come back.
type Repository interface {
	// Offer writes a bundle of the commit that work in w starts from, without what have holds. That it takes more than most bytes is an
	// [*amp.ParcelError], and nothing is written then.
	Offer(ctx context.Context, w amp.Workspace, have []string, most int64, to io.Writer) error
	// Take brings a parcel into the worktree of the turn, of a reviewer into its disposable one, or leaves everything as it is. What it
	// refuses is an [*amp.ParcelError].
	Take(ctx context.Context, w amp.Workspace, turnID, file string, p amp.Parcel) error
}

// ErrNotOpen says that an agent has no such request now: it was answered or withdrawn, or the coordinator has not asked again since it
// was started.
var ErrNotOpen = errors.New("you have no such request open")

// desk holds the requests whose agents may have the commits that they start from.
type desk struct {
	mu   sync.Mutex
	open map[string]*errand // by message id
}

// errand is one of them.
type errand struct {
	run *run
	dir string // where parcels arrive

	mu sync.Mutex
	// arriving and offering say that a parcel is on its way, in and out: one at a time.
	arriving, offering bool
	// over says that the answer is here, or that the turn has ended: nothing is written any more, however slowly its sender goes on.
	over bool
}

// end keeps out what still arrives. It waits for no sender.
func (e *errand) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// errandFolder is where the parcels of a request arrive.
func (b *Bus) errandFolder(messageID string) string {
	sum := sha256.Sum256([]byte(messageID))
	return filepath.Join(b.cfg.Parcels, hex.EncodeToString(sum[:8]))
}

// serve opens the request of a run to its agent until close. Parcels stay when the turn was only interrupted.
func (b *Bus) serve(r *run, id string) (closing func(failed *providers.TurnError)) {
	if r.agent.config.Repository == nil || b.cfg.Parcels == "" || r.turn.Work.Repo == "" {
		return func(*providers.TurnError) {}
	}
	e := &errand{run: r, dir: b.errandFolder(id)}
	b.desk.mu.Lock()
	defer b.desk.mu.Unlock()
	b.desk.open[id] = e
	r.errand = e
	return func(failed *providers.TurnError) {
		b.desk.mu.Lock()
		if b.desk.open[id] == e {
			delete(b.desk.open, id)
		}
		b.desk.mu.Unlock()
		e.end()
		if failed == nil || failed.Failure != providers.FailKilled {
			if err := os.RemoveAll(e.dir); err != nil {
				b.cfg.Logger.Warn("what arrived for a request stays", "err", err)
			}
		}
	}
}

// errand is the open request of an agent, for a caller that speaks for it.
func (b *Bus) errand(who Caller, agent, id string) (*errand, error) {
	if err := b.hosts(who, agent); err != nil {
		return nil, err
	}
	b.mu.Lock()
	holder, _ := b.state.seen.holder(keyOf(Coordinator, id))
	b.mu.Unlock()
	b.desk.mu.Lock()
	defer b.desk.mu.Unlock()
	e := b.desk.open[id]
	if e == nil || holder != agent {
		return nil, ErrNotOpen
	}
	return e, nil
}

// Offer writes a bundle of the commit that an open request starts from, without what have holds. started is called before the first byte.
func (b *Bus) Offer(ctx context.Context, who Caller, agent, id string, have []string, started func() io.Writer) error {
	e, err := b.errand(who, agent, id)
	if err != nil {
		return err
	}
	if err := e.begin(&e.offering); err != nil {
		return err
	}
	defer e.done(&e.offering)
	first := &lateWriter{make: started}
	err = e.run.agent.config.Repository.Offer(ctx, e.run.turn.Work, have, b.cfg.MaxOffer, first)
	if large, ok := errors.AsType[*amp.ParcelError](err); ok {
		return refusal("BUS-047", "", "%s: raise max_offer under [bus] on the coordinator, or give the worker a clone to begin with, under [worker.clones]", large.Why)
	}
	return err
}

// begin takes the one place of those who bring a parcel, or fetch one.
func (e *errand) begin(busy *bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return ErrNotOpen
	}
	if *busy {
		return &FullError{What: "the desk of this request, where another parcel is on its way,"}
	}
	*busy = true
	return nil
}

func (e *errand) done(busy *bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*busy = false
}

// fenced writes to a file as long as its errand goes on.
type fenced struct {
	e *errand
	f *os.File
}

func (w fenced) Write(p []byte) (int, error) {
	w.e.mu.Lock()
	defer w.e.mu.Unlock()
	if w.e.over {
		return 0, ErrNotOpen
	}
	return w.f.Write(p)
}

// lateWriter makes its writer when there is something to write.
type lateWriter struct {
	make func() io.Writer
	w    io.Writer
}

func (l *lateWriter) Write(p []byte) (int, error) {
	if l.w == nil {
		l.w = l.make()
	}
	return l.w.Write(p)
}

// Arrived is how much of a parcel for an open request is here.
func (b *Bus) Arrived(who Caller, agent, id, sum string) (int64, error) {
	e, err := b.errand(who, agent, id)
	if err != nil {
		return 0, err
	}
	return e.arrived(sum)
}

func (e *errand) arrived(sum string) (int64, error) {
	if !goodSum(sum) {
		return 0, refusal("BUS-066", "sha256", "%s is no SHA-256 in hex digits", quoted(sum))
	}
	for _, name := range []string{sum + ".bundle", sum + ".part"} {
		if info, err := os.Stat(filepath.Join(e.dir, name)); err == nil {
			return info.Size(), nil
		}
	}
	return 0, nil
}

func goodSum(sum string) bool {
	raw, err := hex.DecodeString(sum)
	return err == nil && len(raw) == sha256.Size
}

// Arrive takes bytes of a parcel for an open request, from an offset on, and returns how many are here then. It is taken when its size and its
// sum are right; one whose sum is wrong is thrown away. Bytes that are here already are not taken twice: the offset is where they end.
func (b *Bus) Arrive(who Caller, agent, id, sum string, offset, size int64, body io.Reader) (int64, error) {
	e, err := b.errand(who, agent, id)
	if err != nil {
		return 0, err
	}
	if size <= 0 || size > b.cfg.MaxParcel {
		return 0, refusal("BUS-047", "size", "the bundle has %d bytes; 1 to %d are taken", size, b.cfg.MaxParcel)
	}
	if err := e.begin(&e.arriving); err != nil {
		return 0, err
	}
	defer e.done(&e.arriving)
	n, err := e.arrived(sum)
	if err != nil {
		return 0, err
	}
	done := filepath.Join(e.dir, sum+".bundle")
	if _, err := os.Stat(done); err == nil {
		return n, nil
	}
	if offset != n {
		return n, nil // the sender goes on from there
	}
	part := filepath.Join(e.dir, sum+".part")
	f, err := e.open(part)
	if err != nil {
		return 0, err
	}
	got, err := io.Copy(fenced{e, f}, io.LimitReader(body, size-n))
	n += got
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil || n < size {
		return n, err
	}
	if err := checkSum(part, sum); err != nil {
		return 0, errors.Join(err, os.Remove(part))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return 0, ErrNotOpen
	}
	return n, os.Rename(part, done)
}

// open opens the file of a parcel while the errand goes on.
func (e *errand) open(part string) (*os.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return nil, ErrNotOpen
	}
	if err := e.room(part); err != nil {
		return nil, err
	}
	return os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// room makes the folder of parcels, and throws away what arrived of other ones: a request has one answer.
func (e *errand) room(part string) error {
	if _, err := os.Stat(part); err == nil {
		return nil
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return err
	}
	return os.MkdirAll(e.dir, 0o700)
}

func checkSum(file, sum string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return refusal("BUS-047", "sha256", "the bundle has the sum %s, announced was %s", got, sum)
	}
	return nil
}

// land brings the commits that an answer announces into the worktree of the turn.
func (r *run) land(ctx context.Context, m *Message) *providers.TurnError {
	if r.errand == nil {
		return nil
	}
	raw := m.Metadata["parcel"]
	if raw == nil && r.turn.Role != amp.Executor {
		return nil // it changed nothing
	}
	if raw == nil {
		return failure(providers.FailAnswer, "its answer says nothing of the commits: metadata.parcel is missing")
	}
	var p amp.Parcel
	if err := json.Unmarshal(raw, &p); err != nil {
		return failure(providers.FailAnswer, "metadata.parcel of its answer is none: %v", err)
	}
	file := ""
	if p.SHA256 != "" {
		if !goodSum(p.SHA256) {
			return failure(providers.FailAnswer, "metadata.parcel.sha256 of its answer is no SHA-256")
		}
		file = filepath.Join(r.errand.dir, p.SHA256+".bundle")
		if _, err := os.Stat(file); err != nil {
			return failure(providers.FailAnswer, "the bundle that its answer announces never arrived")
		}
	}
	r.errand.end() // what is read now stays as it is
	err := r.agent.config.Repository.Take(ctx, r.turn.Work, r.turn.ID, file, p)
	if refused, ok := errors.AsType[*amp.ParcelError](err); ok {
		return failure(providers.FailAnswer, "its commits were refused: %s", refused.Why)
	}
	if err != nil && ctx.Err() != nil {
		return failure(providers.FailKilled, "the turn was stopped: %v", context.Cause(ctx))
	}
	if err != nil {
		return failure(providers.FailCrashed, "its commits could not be taken here: %v", err)
	}
	return nil
}

// staleParcels is how long what arrived for a request stays that nobody asked about again.
const staleParcels = 48 * time.Hour

// sweepParcels throws away what arrived for requests that are long over.
func (b *Bus) sweepParcels(now time.Time) {
	if b.cfg.Parcels == "" {
		return
	}
	all, _ := os.ReadDir(b.cfg.Parcels) // none yet
	for _, d := range all {
		if info, err := d.Info(); err == nil && now.Sub(info.ModTime()) > staleParcels {
			if err := os.RemoveAll(filepath.Join(b.cfg.Parcels, d.Name())); err != nil {
				b.cfg.Logger.Warn("an old parcel stays", "err", err)
			}
		}
	}
}

// DecodeRequest reads a message that the bus itself wrote: a request of Arbiter may be longer than what it takes from others.
func DecodeRequest(data []byte) (*Message, error) {
	m, _, err := decode(bytes.Clone(data), false, maxOwn)
	return m, err
}

// MaxRequest is how many bytes such a message has at most.
const MaxRequest = maxOwn
