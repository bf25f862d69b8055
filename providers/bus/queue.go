package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"
)

// Key names a message on the bus: its sender and its message_id. Nobody takes another's id away by using it first.
type Key [16]byte

// KeyOf is the key of a message.
func KeyOf(m *Message) Key { return keyOf(m.Sender.AgentID, m.MessageID) }

func keyOf(sender, id string) Key {
	sum := sha256.Sum256([]byte(sender + "\x00" + id))
	return Key(sum[:16])
}

// String is the key in hex digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText writes the key in hex digits.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads 32 hex digits.
func (k *Key) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(k) {
		return errors.New("a key has 32 hex digits")
	}
	copy(k[:], raw)
	return nil
}

// item is a message that waits.
type item struct {
	key     Key
	message *Message
	// sent is the message as its sender wrote it: one that was handed over has another recipient.
	sent *Message
	to   string
	// first is when it came, at when it began to wait for the recipient that it waits for now.
	first, at time.Time
	// passed are the agents that it was handed over to.
	passed []string
	order  uint64
	gone   bool

	// What follows is not folded: a restart begins anew.
	holder   *Session
	attempts int
	due      time.Time
	until    time.Time
	confirm  chan struct{} // closed when it was delivered, for who waits for that
}

// again is the same message beginning to wait anew. The old item stays out of its queue.
func (it *item) again(at time.Time, passed []string) *item {
	return &item{key: it.key, message: it.message, sent: it.sent, first: it.first, at: at, passed: passed, confirm: it.confirm}
}

// size is what it takes of memory.
func (it *item) size() int64 { return int64(len(it.message.Raw)) + 512 }

// queue holds the messages for one recipient: by priority, and within each in the order in which they came (B14).
type queue struct {
	rank  [4][]*item
	n     int
	bytes int64
	gone  int
	by    map[string]int // how many are of each sender
}

func (q *queue) push(it *item) {
	r := slices.Index(priorities, it.message.Priority)
	q.rank[r] = append(q.rank[r], it)
	q.n++
	q.bytes += it.size()
	if q.by == nil {
		q.by = map[string]int{}
	}
	q.by[it.message.Sender.AgentID]++
}

// drop takes an item out. Its place stays until half of all places are empty.
func (q *queue) drop(it *item) {
	if it.gone {
		return
	}
	it.gone = true
	q.n--
	q.gone++
	q.bytes -= it.size()
	if q.by[it.message.Sender.AgentID]--; q.by[it.message.Sender.AgentID] == 0 {
		delete(q.by, it.message.Sender.AgentID)
	}
	if q.gone <= q.n+32 {
		return
	}
	for r := range q.rank {
		q.rank[r] = slices.DeleteFunc(q.rank[r], func(old *item) bool { return old.gone })
	}
	q.gone = 0
}

// each calls f with the items in their order until it says no.
func (q *queue) each(f func(*item) bool) {
	for r := range q.rank {
		for _, it := range q.rank[r] {
			if !it.gone && !f(it) {
				return
			}
		}
	}
}

// letter is a message that could not be delivered.
type letter struct {
	*item
	why string
	on  time.Time
}

// letters are the newest dead letters. Older ones are in the journal alone.
type letters struct {
	all   []letter
	bytes int64
}

const (
	maxDead      = 1000
	maxDeadBytes = 64 << 20
)

func (l *letters) add(it *item, why string, on time.Time) {
	l.all = append(l.all, letter{it, why, on})
	l.bytes += it.size()
	for len(l.all) > maxDead || l.bytes > maxDeadBytes && len(l.all) > 1 {
		l.bytes -= l.all[0].size()
		l.all = slices.Delete(l.all, 0, 1)
	}
}

func (l *letters) take(k Key) *item {
	i := slices.IndexFunc(l.all, func(d letter) bool { return d.key == k })
	if i < 0 {
		return nil
	}
	it := l.all[i].item
	l.bytes -= it.size()
	l.all = slices.Delete(l.all, i, i+1)
	return it
}
