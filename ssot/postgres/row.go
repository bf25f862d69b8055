package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
)

const (
	entryColumns = "e.seq, e.kind, k.task_id, e.role, e.actor, e.at, e.id, e.body, p.hash, e.hash"
	entryTables  = " FROM entry e LEFT JOIN task_key k ON k.key = e.task LEFT JOIN entry p ON p.seq = e.seq - 1 "
	selectEntry  = "SELECT " + entryColumns + entryTables
)

// scanEntry reads a row of selectEntry.
func scanEntry(row pgx.Row) (e amp.Entry, err error) {
	var seq, at int64
	var kind string
	var task, role, actor, id, prev, hash []byte
	if err := row.Scan(&seq, &kind, &task, &role, &actor, &at, &id, &e.Body, &prev, &hash); err != nil {
		return e, err
	}
	e.Seq, e.Kind, e.TaskID, e.Role, e.Actor, e.ID = uint64(seq), amp.Kind(kind), amp.TaskID(task), amp.Role(role), string(actor), string(id)
	e.At = time.UnixMilli(at).UTC()
	copy(e.PrevHash[:], prev)
	copy(e.Hash[:], hash)
	return e, nil
}

// entriesIf reads the rows that pass, up to a limit, and closes them.
func entriesIf(rows pgx.Rows, limit int, pass func(*amp.Entry) bool) (out []amp.Entry, err error) {
	defer rows.Close()
	for len(out) != limit && rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, err
		}
		if pass(&e) {
			out = append(out, e)
		}
	}
	rows.Close()
	return out, rows.Err()
}

func every(*amp.Entry) bool { return true }

// texts are ids as the database takes a list of them.
func texts[S ~string](all []S) [][]byte {
	out := make([][]byte, len(all))
	for i, s := range all {
		out[i] = []byte(s)
	}
	return out
}
