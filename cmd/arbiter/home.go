package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"github.com/adrg/xdg"
)

// home is the data directory, absolute; it need not exist. Of a coordinator elsewhere there is none here.
func (a *app) home() (string, error) {
	if err := a.elsewhere(); err != nil {
		return "", err
	}
	dir := a.homeFlag
	if dir == "" {
		dir = os.Getenv("ARBITER_HOME")
	}
	if dir == "" {
		dir = filepath.Join(xdg.DataHome, "arbiter")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data directory: %w", err)
	}
	return abs, nil
}

// makeHome is home, created when it is not there and proven to be a folder that can be written.
func (a *app) makeHome() (string, error) {
	dir, err := a.home()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the data directory: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return "", fmt.Errorf("write to the data directory: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return "", fmt.Errorf("write to the data directory: %w", err)
	}
	return dir, nil
}

// configPath is the configuration file; named says that a person named it, so that it has to be there.
func (a *app) configPath() (path string, named bool) {
	for _, p := range []string{a.configFlag, os.Getenv("ARBITER_CONFIG")} {
		if p == "" {
			continue
		}
		if full, err := filepath.Abs(p); err == nil { // programs are named beside it
			p = full
		}
		return p, true
	}
	return filepath.Join(xdg.ConfigHome, "arbiter", "config.toml"), false
}

// osUser is the name of who runs this program.
func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid-%d", os.Getuid())
}

// exists reports whether there is a file or folder at path.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
