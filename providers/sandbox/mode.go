//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
)

// Mode is how programs are confined.
type Mode string

// The modes. Docs of what each holds back are in docs/confinement.md.
const (
	// Auto is Bubblewrap where it works, else Landlock, else an error that says what to install; on macOS, which has neither, Off.
	Auto Mode = "auto"
	// Bubblewrap shows a program its own folders alone, no network but the way to the model, and no process but its own.
	Bubblewrap Mode = "bwrap"
	// Landlock lets a program read and write its own folders alone and open TCP connections to the proxy alone.
	Landlock Mode = "landlock"
	// Off confines nothing.
	Off Mode = "off"
)

// Modes are all modes, as a configuration writes them.
func Modes() []Mode { return []Mode{Auto, Bubblewrap, Landlock, Off} }

// MissingError says that a mode cannot be kept here.
type MissingError struct {
	Mode Mode
	// Why is what is missing, in a sentence.
	Why string
	// Next is what to do.
	Next string
}

// Error is the sentence and what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("agents cannot be confined by %s: %s. %s", e.Mode, e.Why, e.Next)
}

// Install is how to get what confines agents best here.
func Install() string {
	if runtime.GOOS != "linux" {
		return "macOS has nothing that confines them; run Arbiter in a Linux machine for that."
	}
	return "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap), " +
		"or set sandbox = \"off\" for agents that you trust with all that you can reach."
}

// Works reports whether the mode can be kept here, and in a sentence what was found. It tries it, once per run of this program.
func (m Mode) Works() (found string, err error) {
	switch m {
	case Bubblewrap:
		return tryBubblewrap()
	case Landlock:
		return tryLandlock()
	case Off, "":
		return "nothing is held back", nil
	case Auto:
		mode, err := m.resolve()
		if err != nil {
			return "", err
		}
		return mode.Works()
	}
	return "", fmt.Errorf("%q is no way to confine an agent; the ways are %q", string(m), Modes())
}

// Confined is the mode that a program would run in here: never Auto, and "none" when it would not be started.
func (l *Leash) Confined() string {
	mode, err := l.Mode.resolve()
	if err != nil {
		return "none"
	}
	return string(mode)
}

// resolve is the mode to run in.
func (m Mode) resolve() (Mode, error) {
	if m != Auto {
		if _, err := m.Works(); err != nil {
			return "", err
		}
		if m == "" {
			return Off, nil
		}
		return m, nil
	}
	if runtime.GOOS != "linux" {
		return Off, nil
	}
	_, err := tryBubblewrap()
	if err == nil {
		return Bubblewrap, nil
	}
	if _, other := tryLandlock(); other != nil {
		return "", &MissingError{Mode: Auto, Why: fmt.Sprintf("%v; %v", reason(err), reason(other)), Next: Install()}
	}
	return Landlock, nil
}

// reason is why a mode is missing, without what to do.
func reason(err error) string {
	if e, ok := errors.AsType[*MissingError](err); ok {
		return e.Why
	}
	return err.Error()
}
