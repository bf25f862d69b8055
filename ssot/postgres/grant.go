package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"arbiter/ssot"
)

// readerRights let a role read everything and change nothing; writerRights let it do what a coordinator does, and no more: nobody
// but the owner of the tables can change or remove an entry, and the owner too only by dropping what refuses it.
var (
	readerRights = []string{
		"GRANT USAGE ON SCHEMA %[1]s TO %[2]s",
		"GRANT SELECT ON ALL TABLES IN SCHEMA %[1]s TO %[2]s",
	}
	writerRights = []string{
		"GRANT INSERT ON entry, task_key TO %[2]s",
		"GRANT INSERT, UPDATE, DELETE ON task, lease, search_chunk, search_sheet TO %[2]s",
		"GRANT UPDATE ON head, usage, lease_epoch, search_reach TO %[2]s",
	}
)

// Grant lets a role that exists read the journal, or also write it as a coordinator does. What it had before beyond that is taken
// from it. Only the owner of the tables can.
func (l *Log) Grant(ctx context.Context, role string, write bool) error {
	if l.writer == nil {
		return ssot.ErrReadOnly
	}
	rights := readerRights
	if write {
		rights = append(rights[:len(rights):len(rights)], writerRights...)
	}
	rights = append([]string{"REVOKE ALL ON ALL TABLES IN SCHEMA %[1]s FROM %[2]s"}, rights...)
	return l.reading(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
			var owner bool
			err := tx.QueryRow(ctx, "SELECT tableowner = current_user FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'entry'",
				l.schema).Scan(&owner)
			if err != nil {
				return err
			}
			if !owner { // GRANT would only warn
				return &RightsError{Store: l.name, User: l.cfg.User, Why: "it does not own the tables"}
			}
			for _, grant := range rights {
				if _, err := tx.Exec(ctx, fmt.Sprintf(grant, l.schema, pgx.Identifier{role}.Sanitize())); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
