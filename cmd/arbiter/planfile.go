package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
	"arbiter/amp/plantext"
)

// maxPlan is the most bytes of a plan file that are read.
const maxPlan = 2 << 20

// readPlan reads a plan from a file, or from standard input as "-": TOML, or JSON when it begins with a brace.
func (a *app) readPlan(name string) (*amp.Plan, error) {
	data, err := a.readFile(name, maxPlan)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = "standard input"
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return parsePlanJSON(name, data)
	}
	return parsePlanTOML(name, data)
}

// readFile reads a whole file, or standard input as "-", of at most limit bytes.
func (a *app) readFile(name string, limit int64) ([]byte, error) {
	in := a.typed
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, usage("%s is larger than %d bytes", name, limit)
	}
	return data, nil
}

func parsePlanJSON(name string, data []byte) (*amp.Plan, error) {
	p := &amp.Plan{}
	if err := json.Unmarshal(data, p, json.RejectUnknownMembers(true)); err != nil {
		return nil, &usageError{
			what: fmt.Sprintf("%s is no plan: %v", name, err), means: "Nothing was submitted.",
			next: "See the form: arbiter plan show TASK --json",
		}
	}
	return p, nil
}

func parsePlanTOML(name string, data []byte) (*amp.Plan, error) {
	var t plantext.Text
	if err := decodeTOML(name, data, &t); err != nil {
		return nil, err
	}
	p, err := t.Plan()
	if err != nil {
		return nil, usage("%s: %v", name, err).then("Edit it.")
	}
	return p, nil
}

// writePlanTOML is the plan as a person edits it.
func writePlanTOML(p *amp.Plan) ([]byte, error) {
	t := plantext.Of(p)
	return t.Marshal()
}

// repoTop is the top folder of the repository that dir is in, else dir itself, absolute.
func repoTop(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		if there, _ := exists(filepath.Join(at, ".git")); there {
			return at, nil
		}
		if strings.TrimSuffix(at, string(filepath.Separator)) == strings.TrimSuffix(filepath.Dir(at), string(filepath.Separator)) {
			return abs, nil
		}
	}
}
