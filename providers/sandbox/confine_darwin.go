package sandbox

import "errors"

var errNotHere = errors.New("this system has no such thing")

func tryBubblewrap() (string, error) {
	return "", &MissingError{Mode: Bubblewrap, Why: "bubblewrap runs on Linux alone", Next: Install()}
}

func tryLandlock() (string, error) {
	return "", &MissingError{Mode: Landlock, Why: "Landlock is a part of Linux", Next: Install()}
}

func (c *Cage) bubblewrap(*Spec, []string) ([]string, error) { return nil, errNotHere }

func (c *Cage) landlock(*Spec, []string) ([]string, error) { return nil, errNotHere }

func (s *shim) restrict() error { return errNotHere }

func (s *shim) bound() error { return nil }
