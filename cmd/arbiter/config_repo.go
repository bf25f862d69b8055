package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type repoConfig struct {
	Protected []string   `toml:"protected"`
	Checks    [][]string `toml:"checks"`
	CITimeout duration   `toml:"ci_timeout"`
	// Require are checks that run elsewhere, by their names in ci_status, which must pass before a review; RequireWithin is how long they
	// may take before the admin is asked, 0 two hours.
	Require       []string `toml:"require"`
	RequireWithin duration `toml:"require_within"`
}

// repoFile is the name of the configuration in a repository.
const repoFile = "arbiter.toml"

// repoFileConfig is what a repository may set for its own tasks. It names no program but the checks, which run the repository's
// own code anyway.
type repoFileConfig struct {
	Roles  rolesConfig  `toml:"roles"`
	Budget budgetConfig `toml:"budget"`
	Repo   repoConfig   `toml:"repo"`
}

// loadRepoFile reads arbiter.toml of a repository's top folder; without one it is empty.
func loadRepoFile(root string) (*repoFileConfig, error) {
	c := &repoFileConfig{}
	file := filepath.Join(root, repoFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	if err := decodeTOML(file, data, c); err != nil {
		return nil, err
	}
	if err := errors.Join(c.Repo.validate(), c.foreign()); err != nil {
		return nil, usage("%s is wrong: %v", file, err).then("Edit it.")
	}
	return c, nil
}

// foreign are the keys that belong to the whole installation: here they would be there for nothing.
func (c *repoFileConfig) foreign() error {
	var errs []error
	if c.Roles.Coordinator != "" {
		errs = append(errs, errors.New("roles.coordinator: who drafts plans is set in config.toml, for every repository"))
	}
	if c.Budget.Day != (dayConfig{}) {
		errs = append(errs, errors.New("budget.day: what all tasks take on a day is bounded in config.toml"))
	}
	if b := c.Budget; b.Turns < 0 || b.Tokens < 0 || b.Cost < 0 {
		errs = append(errs, errors.New("budget: a bound is negative"))
	}
	return errors.Join(errs...)
}

// timeout is how long a run of the checks may take, otherwise where nothing is said.
func (r repoConfig) timeout(otherwise time.Duration) time.Duration {
	return cmp.Or(time.Duration(r.CITimeout), otherwise)
}

func (r repoConfig) validate() error {
	var errs []error
	for _, p := range r.Protected {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			errs = append(errs, fmt.Errorf("repo.protected: %q is no pattern", p))
		}
	}
	for i, name := range r.Require {
		if strings.TrimSpace(name) == "" || name == "local" || slices.Index(r.Require, name) != i {
			errs = append(errs, fmt.Errorf("repo.require: %q is no name of a check that runs elsewhere, or is there twice", name))
		}
	}
	for i, argv := range r.Checks {
		if len(argv) == 0 || argv[0] == "" {
			errs = append(errs, fmt.Errorf("repo.checks[%d] is empty; a check is a program and its arguments, as [\"go\", \"test\", \"./...\"]", i))
		}
	}
	return errors.Join(errs...)
}
