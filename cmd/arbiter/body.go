package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"
)

// rawBody prints a body byte for byte, unless a terminal would obey what an agent wrote into it: there it is made safe.
func (a *app) rawBody(body []byte) {
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(f.Fd()) {
		a.block("", string(body))
		return
	}
	a.out("%s", body)
}

// terminalErr reports whether standard error is a terminal, so that progress can be shown.
func (a *app) terminalErr() bool {
	f, ok := a.stderr.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// indented is JSON laid out for reading, or the text as it is.
func indented(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

// readAtMost reads the beginning of a file.
func readAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, errors.Unwrap(err))
	}
	return data, nil
}
