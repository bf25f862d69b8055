package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"arbiter/ssot/postgres"
)

// storeConfig says where the journal is: in the data directory, or in a database that several coordinators share.
type storeConfig struct {
	// URL is the database, as postgres://user@host/database?search_path=schema; empty is the data directory.
	URL string `toml:"url"`
	// PasswordEnv is the name of the variable that holds the password, PasswordFile a file that holds it. Without either the
	// variable PGPASSWORD and the file ~/.pgpass count, as for every program of PostgreSQL.
	PasswordEnv  string `toml:"password_env"`
	PasswordFile string `toml:"password_file"`
}

// loadStore reads only where the journal is: what else is wrong in the configuration keeps nobody from reading it.
func (a *app) loadStore() (storeConfig, error) {
	only := struct {
		Store storeConfig `toml:"store"`
	}{}
	file, _ := a.configPath()
	data, err := os.ReadFile(file)
	if err == nil {
		err = toml.Unmarshal(data, &only)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return storeConfig{}, usage("where the journal is cannot be read from the configuration %s", file).then("arbiter doctor says what is wrong with it.")
	}
	c := &config{Store: only.Store}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return !strings.HasPrefix(kv, "ARBITER_STORE_") })
	if err := overrideEnv(c, env); err != nil {
		return storeConfig{}, err
	}
	if err := overrideSets(c, a.sets); err != nil { // all of them: this is no old configuration, it was just typed
		return storeConfig{}, err
	}
	var errs []error
	c.Store.validate(func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) })
	if err := errors.Join(errs...); err != nil {
		return storeConfig{}, usage("the configuration is wrong: %v", err).then("Edit " + file + ".")
	}
	return c.Store, nil
}

// storeKeys are the keys that variables may set.
var storeKeys = []string{"url", "password_env", "password_file"}

// isDatabase reports whether a store is named by the address of a database, and not by a folder.
func isDatabase(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

func (s storeConfig) validate(bad func(string, ...any)) {
	if s.URL != "" {
		if err := checkDatabase(s.URL); err != nil {
			bad("store.url: %v", err)
		}
	}
	switch {
	case s.PasswordEnv != "" && s.PasswordFile != "":
		bad("store: password_env and password_file: give one of them")
	case s.PasswordEnv != "" && !variableName.MatchString(s.PasswordEnv):
		bad("store.password_env is no name of a variable; put the password into a variable of the environment and name that")
	}
}

// checkDatabase refuses what is no address, and a password in one, which ends up in logs and lists of processes. It repeats neither.
func checkDatabase(text string) error {
	if !isDatabase(text) {
		return errors.New("it is no address of a database; write it as postgres://user@host/database")
	}
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("it is no address; write it as postgres://user@host/database")
	}
	_, password := u.User.Password()
	if password || u.Query().Has("password") {
		return errors.New("it holds a password; name the variable that holds it as store.password_env, or a file as store.password_file")
	}
	return nil
}

// options are how a database is opened. The password is read when it is needed, never kept, and never in an error.
func (s storeConfig) options(where, configDir string) (postgres.Options, error) {
	o := postgres.Options{URL: where, Version: version()}
	if err := checkDatabase(where); err != nil {
		return o, usage("the store cannot be opened: %v", err)
	}
	switch {
	case s.PasswordEnv != "":
		if o.Password = os.Getenv(s.PasswordEnv); o.Password == "" {
			return o, usage("the variable %s is not set, which store.password_env names for the password of the database", s.PasswordEnv).
				then("Set it where the coordinator is started, then try again.")
		}
	case s.PasswordFile != "":
		file := s.PasswordFile
		if !filepath.IsAbs(file) {
			file = filepath.Join(configDir, file)
		}
		password, err := readKey(file)
		if err != nil {
			return o, usage("the password of the database: %v", err)
		}
		o.Password = password
	}
	return o, nil
}
