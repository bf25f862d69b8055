package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Options are where a journal is, and how it is opened.
type Options struct {
	// URL says where the database is, as postgres://user@host/database?search_path=schema. What it leaves out comes from the
	// variables PGHOST, PGUSER and so on. Without a search_path the schema is arbiter.
	URL string
	// Password is used in place of one in the URL. Neither is ever part of an error.
	Password string
	// Version is the program's version; the database shows it beside each connection.
	Version string
	// Index keeps the index of searches at the head while the journal is open for writing.
	Index bool
	// Patience is how long a call goes on trying to reach the database, 30 s when it is zero.
	Patience time.Duration
}

const (
	defaultSchema   = "arbiter"
	defaultPatience = 30 * time.Second
	// idleTimeout ends the transaction of a coordinator that stands still in the middle of one, so that the others go on.
	idleTimeout = 5 * time.Second
	// lockTimeout is how long a writer waits for the others.
	lockTimeout = 10 * time.Second
	// tryTimeout is how long a batch may take before the connection is given up.
	tryTimeout = 25 * time.Second
)

// place is a journal's schema in a database, and how to get there.
type place struct {
	cfg      *pgx.ConnConfig
	schema   string
	name     string // for people, without a password
	patience time.Duration
}

// schemaName keeps the name of a schema free of what would need quotes.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

func locate(opts Options) (*place, error) {
	cfg, err := pgx.ParseConfig(opts.URL)
	if err != nil { // its text may hold the password
		return nil, &AddressError{Why: addressFault(err)}
	}
	if opts.Password != "" {
		cfg.Password = opts.Password
	}
	p := &place{cfg: cfg, schema: cfg.RuntimeParams["search_path"], patience: opts.Patience}
	if p.schema == "" {
		p.schema = defaultSchema
	}
	if p.patience == 0 {
		p.patience = defaultPatience
	}
	p.name = fmt.Sprintf("postgres://%s/%s", hostText(cfg.Host, cfg.Port), cfg.Database)
	if cfg.Database == "" {
		p.name += cfg.User
	}
	p.name += "?search_path=" + p.schema
	if !schemaName.MatchString(p.schema) {
		return nil, &AddressError{Store: p.name, Why: fmt.Sprintf("the schema of a journal is named with small letters, digits and _, not %q", p.schema)}
	}
	own := map[string]string{"search_path": p.schema}
	for name, value := range map[string]string{
		"application_name":                    strings.TrimSpace("arbiter " + opts.Version),
		"idle_in_transaction_session_timeout": milliseconds(idleTimeout),
		"lock_timeout":                        milliseconds(lockTimeout),
	} {
		own[name] = cmp.Or(cfg.RuntimeParams[name], value)
	}
	cfg.AfterConnect = settings(own)
	for name := range own {
		delete(cfg.RuntimeParams, name)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	return p, nil
}

// addressFault is why an address cannot be read, without the address, which may hold a password.
func addressFault(err error) string {
	_, why, ok := strings.Cut(err.Error(), "`: ")
	if !ok || strings.Contains(why, "`") || strings.Contains(why, "parse as URL") {
		return "write it as postgres://user@host/database?search_path=schema"
	}
	return why
}

// settings makes the settings of a connection. They are no part of its beginning, where a pooler refuses what it does not know.
func settings(all map[string]string) func(context.Context, *pgconn.PgConn) error {
	var calls []string
	var args [][]byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, []byte(name), []byte(all[name]))
		calls = append(calls, fmt.Sprintf("set_config($%d, $%d, false)", len(args)-1, len(args)))
	}
	text := "SELECT " + strings.Join(calls, ", ")
	return func(ctx context.Context, c *pgconn.PgConn) error {
		_, err := c.ExecParams(ctx, text, args, nil, nil, nil).Close()
		return err
	}
}

func hostText(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// scrub takes the password out of a text that came from elsewhere.
func (p *place) scrub(text string) string {
	if p.cfg.Password == "" {
		return text
	}
	return strings.ReplaceAll(text, p.cfg.Password, "***")
}
