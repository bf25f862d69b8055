package notify

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"
	"github.com/google/uuid"

	"arbiter/amp"
)

// state is what was sent where: all that is remembered besides the journal. Everything in it is bounded.
type state struct {
	// Cursor is the last entry that what follows knows of.
	Cursor uint64 `json:"cursor"`
	// Offset is the next update of Telegram's, At when it was learned: after a week without any Telegram counts anew.
	Offset int64     `json:"offset,omitzero"`
	At     time.Time `json:"at,omitzero"`
	// Status are the tasks that have not ended, as they were last told of.
	Status map[amp.TaskID]amp.Status `json:"status"`
	Items  map[string]*item          `json:"items"`
	// Buttons are by the secret that each carries.
	Buttons map[string]*button `json:"buttons"`
	Prompts []*prompt          `json:"prompts,omitzero"`
	Notes   []*note            `json:"notes,omitzero"`
	// Hushed is what was not told in the quiet hours.
	Hushed *hushed              `json:"hushed,omitzero"`
	Hooks  map[string][]*parcel `json:"hooks,omitzero"`
	// Strangers counts what came from chats and people who are not configured.
	Strangers int `json:"strangers,omitzero"`
}

// item is a need and what became of it.
type item struct {
	Key      string       `json:"key"`
	Kind     amp.NeedKind `json:"kind"`
	TaskID   amp.TaskID   `json:"task_id"`
	Seq      uint64       `json:"seq"`
	ID       string       `json:"id,omitzero"`
	Critical bool         `json:"critical,omitzero"`
	At       time.Time    `json:"at"`
	// Quiet says that it came in the quiet hours and is not told before they end.
	Quiet bool `json:"quiet,omitzero"`
	// Short is the need in one line, Outcome what became of it once it is Closed.
	Short   string    `json:"short,omitzero"`
	Closed  bool      `json:"closed,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Outcome string    `json:"outcome,omitzero"`
	// Stat is what changed in the branch at Commit.
	Commit string     `json:"commit,omitzero"`
	Stat   []statLine `json:"stat,omitzero"`
	Posts  []*post    `json:"posts,omitzero"`

	card *card // as it is now; nil when it has to be built
}

// post is the message of an item in one chat.
type post struct {
	Chat int64 `json:"chat"`
	// IDs are its messages so far, of as many pages as the card has. Twice are others with the same content: Telegram had taken a
	// message although its answer never came.
	IDs   []int64 `json:"ids,omitzero"`
	Twice []int64 `json:"twice,omitzero"`
	// Shown is a sum of what the last page says, empty before it was sent.
	Shown string `json:"shown,omitzero"`
	// Next is what is being sent and Nonces are its buttons: kept before it is sent, so that they are known if it arrives.
	Next   string   `json:"next,omitzero"`
	Nonces []string `json:"nonces,omitzero"`
	// Gen grows when the buttons must be others although nothing else changed.
	Gen     int       `json:"gen,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	// Dead says that Telegram will never take it.
	Dead bool `json:"dead,omitzero"`
}

// button is a decision that a message offers: bound to what was shown, good for once.
type button struct {
	Choice  choice      `json:"choice"`
	Key     string      `json:"key"`
	TaskID  amp.TaskID  `json:"task_id"`
	Chat    int64       `json:"chat"`
	Expects amp.Expects `json:"expects"`
	Expires time.Time   `json:"expires"`
	// Used says what became of it; Void that the message offers others now.
	Used string `json:"used,omitzero"`
	Void bool   `json:"void,omitzero"`
}

// prompt asks one person for the digits or words of a decision.
type prompt struct {
	Nonce string `json:"nonce"`
	Chat  int64  `json:"chat"`
	User  int64  `json:"user"`
	// Reply is the message that is answered to, ID the prompt's own, 0 until it is sent.
	Reply   int64     `json:"reply"`
	ID      int64     `json:"id,omitzero"`
	Tries   int       `json:"tries,omitzero"`
	Expires time.Time `json:"expires"`
}

// note is a message that stands alone.
type note struct {
	Chat  int64   `json:"chat"`
	Lines []lineS `json:"lines"`
	Reply int64   `json:"reply,omitzero"`
	// News are dropped when there are too many, answers never.
	News    bool `json:"news,omitzero"`
	Dropped int  `json:"dropped,omitzero"`
}

// lineS is a line as it is kept: words of ours, then words of somebody else.
type lineS struct {
	Say   string `json:"say"`
	Quote string `json:"quote,omitzero"`
}

func (n *note) text() text {
	t := text{}
	if n.Dropped > 0 {
		t.say("… %d older lines are left out", n.Dropped)
	}
	for _, l := range n.Lines {
		if l.Quote == "" {
			t.say("%s", l.Say)
		} else {
			t.quote(l.Say, l.Quote, 400)
		}
	}
	return t
}

// hushed is what the quiet hours held back besides the items.
type hushed struct {
	Since time.Time `json:"since"`
	News  []lineS   `json:"news,omitzero"`
	More  int       `json:"more,omitzero"`
	Keys  []string  `json:"keys,omitzero"`
}

// The bounds of the state.
const (
	keepClosed  = 48 * time.Hour // how long it is known what became of a button
	maxClosed   = 1000
	maxNotes    = 50 // of one chat
	maxNews     = 40 // lines of one note, and of the quiet hours
	maxPrompts  = 50
	offsetTime  = 6 * 24 * time.Hour
	buttonTime  = 12 * time.Hour
	promptTime  = 10 * time.Minute
	promptTries = 3
)

// stateFile is where the state of a data directory is.
func stateFile(home string) string { return filepath.Join(home, "system", "notify.json") }

func newState() *state {
	return &state{Status: map[amp.TaskID]amp.Status{}, Items: map[string]*item{}, Buttons: map[string]*button{}, Hooks: map[string][]*parcel{}}
}

// openState reads what was sent so far; fresh says that there is nothing yet. A file that cannot be read is an error, never a new beginning:
// everybody would be told everything twice.
func openState(home string) (s *state, fresh bool, err error) {
	file := stateFile(home)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, false, fmt.Errorf("make the folder of the notifications: %w", err)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return newState(), true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read what was notified: %w", err)
	}
	s = newState()
	if err := json.Unmarshal(data, s); err != nil {
		return nil, false, fmt.Errorf("%s cannot be read (%v); move it away, and what waits is told anew", file, err)
	}
	for key, it := range s.Items {
		if it == nil || it.Key != key {
			return nil, false, fmt.Errorf("%s is damaged at %q; move it away, and what waits is told anew", file, key)
		}
	}
	return s, false, nil
}

func (s *state) save(home string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return renameio.WriteFile(stateFile(home), append(data, '\n'), 0o600)
}

// forget drops what nobody can ask about any more.
func (s *state) forget(now time.Time) {
	var closed []*item
	for _, it := range s.Items {
		if it.Closed && it.settled() {
			closed = append(closed, it)
		}
	}
	slices.SortFunc(closed, func(a, b *item) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Key, b.Key)) })
	for i, it := range closed {
		if now.Sub(it.Ended) > keepClosed || len(closed)-i > maxClosed {
			delete(s.Items, it.Key)
		}
	}
	maps.DeleteFunc(s.Buttons, func(_ string, b *button) bool {
		return s.Items[b.Key] == nil || (b.Void || b.Used != "") && now.Sub(b.Expires) > keepClosed
	})
	s.Prompts = slices.DeleteFunc(s.Prompts, func(p *prompt) bool { return now.After(p.Expires) || s.Buttons[p.Nonce] == nil })
}

// settled reports whether every chat shows the end of a closed item.
func (it *item) settled() bool {
	return !slices.ContainsFunc(it.Posts, func(p *post) bool { return !p.Dead && p.Shown != it.closedSum() })
}

func (it *item) closedSum() string { return "closed " + it.Outcome }

// newNonce is a secret that nobody guesses.
func newNonce() string { return rand.Text() }

// commandID is the id of the one decision that a button is good for: whatever is lost and repeated, it stays one.
func commandID(nonce string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("arbiter telegram "+nonce)).String()
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
