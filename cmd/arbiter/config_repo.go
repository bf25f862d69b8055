package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	if err := c.Repo.validate(); err != nil {
		return nil, usage("%s is wrong: %v", file, err).then("Edit it.")
	}
	return c, nil
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
