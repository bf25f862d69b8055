package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// run runs a program in the turn's folder and returns what it printed and its exit code. An error means that it could not run.
func (a *agent) run(stdin, program string, args ...string) (out string, exit int, err error) {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = a.in.Dir
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	raw, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return "", 0, fmt.Errorf("run %s: %w", program, err)
	}
	return strings.TrimRight(string(raw), "\n"), cmd.ProcessState.ExitCode(), nil
}

// git runs git and fails when it does.
func (a *agent) git(args ...string) (string, error) {
	out, exit, err := a.run("", "git", a.identity(args)...)
	if err == nil && exit != 0 {
		err = fmt.Errorf("git %s ended with %d: %s", args[0], exit, out)
	}
	return out, err
}

// try runs git where it may fail, shows it, and returns whether it worked.
func (a *agent) try(args ...string) (bool, error) {
	a.step("$ git %s", strings.Join(args, " "))
	out, exit, err := a.run("", "git", a.identity(args)...)
	if err != nil {
		return false, err
	}
	if exit != 0 {
		a.step("git refused: %s", lastLine(out))
	}
	return exit == 0, nil
}

// identity names the author where the environment does not.
func (a *agent) identity(args []string) []string {
	if os.Getenv("GIT_AUTHOR_NAME") != "" {
		return args
	}
	name := "Demo " + string(a.in.Turn.Role)
	return append([]string{"-c", "user.name=" + name, "-c", "user.email=demo@localhost"}, args...)
}

// check runs the repository's check of one part.
func (a *agent) check(p *part) (passed bool, out string, err error) {
	a.step("$ sh check.sh %s", p.name)
	out, exit, err := a.run("", "sh", "check.sh", p.name)
	return exit == 0, out, err
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
