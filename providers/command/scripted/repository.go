package scripted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// defaultBranch is the demo repository's.
const defaultBranch = "main"

// checkScript is the repository's own check.
const checkScript = `#!/bin/sh
# sh check.sh [PART...] runs the tests of the named parts of the till, or of all. Each line of tests/PART.test says
# "input => output"; \n and \t stand for newline and tab.
cd "$(dirname "$0")" || exit 2
if [ $# -eq 0 ]; then
	for file in tests/*.test; do
		name=${file#tests/}
		set -- "$@" "${name%.test}"
	done
fi
status=0
for part do
	if [ ! -f "tests/$part.test" ] || [ ! -f "lib/$part.awk" ]; then
		echo "FAIL $part: there is no such part"
		status=1
		continue
	fi
	good=0 bad=0
	while IFS= read -r line; do
		[ -n "$line" ] || continue
		input=${line%% => *} want=$(printf '%b\n' "${line#* => }")
		got=$(printf '%b\n' "$input" | awk -f "lib/$part.awk" 2>&1)
		if [ "$got" = "$want" ]; then
			good=$((good + 1))
		else
			bad=$((bad + 1))
			printf 'FAIL %s: "%s" gives "%s", not "%s"\n' "$part" "$input" "$got" "$want"
		fi
	done <"tests/$part.test"
	if [ $bad -eq 0 ]; then
		echo "ok   $part: $good tests"
	else
		status=1
	fi
done
exit $status
`

// Repository makes the demo's repository in dir, which must not exist yet or be empty: a small till of shell and awk with one
// commit on main, in which every part has a bug that sh check.sh finds. It needs git and sh.
func Repository(dir string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("make the demo repository: %s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("make the demo repository: %w", err)
	}
	for name, content := range contents() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make the demo repository: %w", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("make the demo repository: %w", err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"symbolic-ref", "HEAD", "refs/heads/" + defaultBranch},
		{"add", "-A"},
		{"commit", "-q", "-m", "A till with bugs"},
	} {
		cmd := exec.CommandContext(context.Background(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(withoutGit(os.Environ()),
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=",
			"GIT_AUTHOR_NAME=Demo", "GIT_AUTHOR_EMAIL=demo@localhost", "GIT_COMMITTER_NAME=Demo", "GIT_COMMITTER_EMAIL=demo@localhost")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make the demo repository: git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// withoutGit drops the variables that would lead git to another repository.
func withoutGit(env []string) []string {
	var kept []string
	for _, pair := range env {
		if !strings.HasPrefix(pair, "GIT_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// contents are the files of the repository.
func contents() map[string]string {
	files := map[string]string{"check.sh": checkScript}
	var readme strings.Builder
	readme.WriteString("# till\n\nA small till of shell and awk. `sh check.sh` runs the tests of all parts, `sh check.sh total` those of one.\n\n")
	for i := range parts {
		p := &parts[i]
		files[p.file()] = p.head + p.bug + "\n" + p.tail
		files[p.test()] = strings.Join(p.tests, "\n") + "\n"
		first, _, _ := strings.Cut(strings.TrimPrefix(p.head, "# "), "\n")
		readme.WriteString("- `" + p.file() + "`: " + first + "\n")
	}
	files["README.md"] = readme.String()
	return files
}
