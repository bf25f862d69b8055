package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"arbiter/ssot"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

const versionTable = "goose_db_version"

// newest is the newest schema version that this program knows.
func newest() (int64, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var top int64
	for _, n := range names {
		v, err := goose.NumericComponent(n)
		if err != nil {
			return 0, err
		}
		top = max(top, v)
	}
	return top, nil
}

// inspect says which version the schema has, 0 when there is no journal.
func (p *place) inspect(ctx context.Context, pool *pgxpool.Pool) (have, know int64, err error) {
	if know, err = newest(); err != nil {
		return 0, 0, err
	}
	var there bool
	err = pool.QueryRow(ctx, "SELECT count(*) > 0 FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2", p.schema,
		versionTable).Scan(&there)
	if err != nil || !there {
		return 0, know, err
	}
	err = pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionTable+" WHERE is_applied").Scan(&have)
	if err != nil {
		return 0, know, err
	}
	if have > know {
		return have, know, &ssot.NewerError{Path: p.name, Have: have, Know: know}
	}
	return have, know, nil
}

// migrate makes the schema, or brings it to the newest version. Of several coordinators that start together one does it, and the
// others wait for it.
func (p *place) migrate(ctx context.Context) (err error) {
	conn, err := pgx.ConnectConfig(ctx, p.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // which gives the lock back
	h := fnv.New64a()
	_, _ = io.WriteString(h, "arbiter "+p.schema) // a hash takes everything
	for _, do := range []string{"SET lock_timeout = '5min'", fmt.Sprintf("SELECT pg_advisory_lock(%d)", int64(h.Sum64()))} {
		if _, err := conn.Exec(ctx, do); err != nil {
			return err
		}
	}
	var there bool
	err = conn.QueryRow(ctx, "SELECT count(*) > 0 FROM information_schema.schemata WHERE schema_name = $1", p.schema).Scan(&there)
	if err != nil {
		return err
	}
	if !there {
		if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+p.schema); err != nil {
			return err
		}
	}
	db := stdlib.OpenDB(*p.cfg)
	defer func() { err = errors.Join(err, db.Close()) }()
	know, err := newest()
	if err != nil {
		return err
	}
	return upTo(ctx, db, know)
}

func upTo(ctx context.Context, db *sql.DB, version int64) error {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	g, err := goose.NewProvider(goose.DialectPostgres, db, dir)
	if err != nil {
		return err
	}
	if _, err := g.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrate the journal: %w", err)
	}
	return nil
}
