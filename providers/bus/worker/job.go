package worker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"arbiter/amp"
	"arbiter/providers/bus"
)

// State is how far a request has come.
type State string

// The states of a job.
const (
	// Taken is a request that is kept and waits for its turn, Running one whose agent runs.
	Taken   State = "taken"
	Running State = "running"
	// Answered is a turn that is over and whose answer the coordinator does not have yet, Told one whose answer it has.
	Answered State = "answered"
	Told     State = "told"
	// Withdrawn is a request that the coordinator took back.
	Withdrawn State = "withdrawn"
)

// Job is a request and what became of it, as it is kept in Home/jobs.
type Job struct {
	MessageID string     `json:"message_id"`
	Agent     string     `json:"agent"`
	Task      amp.TaskID `json:"task_id"`
	Role      amp.Role   `json:"role"`
	// Turn is the coordinator's turn that asked last, Run the run here.
	Turn  string    `json:"turn_id"`
	Run   string    `json:"run,omitzero"`
	Runs  int       `json:"runs,omitzero"`
	State State     `json:"state"`
	At    time.Time `json:"at"`
	// Doing is one line of what happens now.
	Doing  string  `json:"doing,omitzero"`
	Answer *Answer `json:"answer,omitzero"`
	// Again says that the coordinator has had the answer, and asked once more.
	Again bool `json:"again,omitzero"`

	// folder is the name of its folder, when that is another than a new job's.
	folder string
}

// key names a job: a request may come to two agents of one worker, of which one takes over from the other.
func key(agent, messageID string) string { return agent + "\x00" + messageID }

// Answer is what a turn ended with.
type Answer struct {
	Type    bus.MessageType `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Session string          `json:"session,omitzero"`
	Usage   usage           `json:"usage,omitzero"`
	Parcel  *amp.Parcel     `json:"parcel,omitzero"`
	At      time.Time       `json:"at"`
}

// usage is what a turn took, as the bus has it.
type usage struct {
	Model   string  `json:"model,omitzero"`
	Input   int     `json:"input_tokens,omitzero"`
	Output  int     `json:"output_tokens,omitzero"`
	Tokens  int     `json:"tokens,omitzero"`
	CostUSD float64 `json:"cost_usd,omitzero"`
}

// The files of a job, in a folder of its own.
const (
	jobFile     = "job.json"
	requestFile = "request.json"
	offerFile   = "offer.bundle"
	resultFile  = "result.bundle"
	logFile     = "turn.log"
)

// shelf keeps jobs on disk.
type shelf struct{ dir string }

func folderOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

func (s shelf) folder(j *Job) string {
	return filepath.Join(s.dir, cmp.Or(j.folder, folderOf(key(j.Agent, j.MessageID))))
}

func (s shelf) file(j *Job, name string) string { return filepath.Join(s.folder(j), name) }

// put keeps a new request. It is durable when it returns.
func (s shelf) put(j *Job, request []byte) error {
	if err := os.MkdirAll(s.folder(j), 0o700); err != nil {
		return fmt.Errorf("keep a request: %w", err)
	}
	if err := renameio.WriteFile(s.file(j, requestFile), request, 0o600); err != nil {
		return fmt.Errorf("keep a request: %w", err)
	}
	return s.save(j)
}

// save writes how far a job has come. It is durable when it returns.
func (s shelf) save(j *Job) error {
	data, err := json.Marshal(j)
	if err == nil {
		err = renameio.WriteFile(s.file(j, jobFile), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the state of a request: %w", err)
	}
	return nil
}

func (s shelf) request(j *Job) ([]byte, error) { return os.ReadFile(s.file(j, requestFile)) }

// load reads every job. A folder without a job is one whose request was never acknowledged: it comes again.
func (s shelf) load() ([]*Job, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the requests: %w", err)
	}
	var all []*Job
	for _, e := range entries {
		name := filepath.Join(s.dir, e.Name(), jobFile)
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		j := new(Job)
		if err := json.Unmarshal(data, j); err != nil || e.Name() != folderOf(key(j.Agent, j.MessageID)) && e.Name() != folderOf(j.MessageID) {
			return nil, fmt.Errorf("%s is damaged; move its folder away to go on without it", name)
		}
		j.folder = e.Name() // an older worker named it after the message alone
		all = append(all, j)
	}
	return all, nil
}

func (s shelf) drop(j *Job) error { return os.RemoveAll(s.folder(j)) }

// Jobs are the jobs that a worker keeps in its home, the newest first.
func Jobs(home string) ([]*Job, error) {
	all, err := shelf{filepath.Join(home, "jobs")}.load()
	slices.SortFunc(all, func(a, b *Job) int { return b.At.Compare(a.At) })
	return all, err
}
