package gitops

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"arbiter/amp"
)

// agentEnv are the variables that make an agent's git work in the task's name, without credentials, and refuse by hooks what the
// agent must not do (AMP-048, AMP-049). They bind only an agent that leaves them be; what it does around them, the comparison
// of all refs after the turn finds.
func agentEnv(hooks string, role amp.Role, task amp.TaskID) []string {
	name, email := "arbiter "+string(role), string(task)+agentDomain
	env := []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email,
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_AUTH_SOCK=", "GIT_SSH_COMMAND=false",
		"GIT_EDITOR=true", "GIT_PAGER=cat",
	}
	config := [][2]string{
		{"core.hooksPath", hooks},
		{"core.logAllRefUpdates", "always"},
		{"credential.helper", ""},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"commit.gpgSign", "false"},
		{"tag.gpgSign", "false"},
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
	for i, kv := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}

func (g *Git) hookDir(turnID string) string { return filepath.Join(g.home, "hooks", fileName(turnID)) }

// attemptsFile is where the hooks write what they refused. It stands beside the hooks, so that a sandbox can let the agent write
// it and nothing else.
func (g *Git) attemptsFile(turnID string) string { return g.hookDir(turnID) + ".attempts" }

// writeHooks writes the hooks of a turn. They act only in this repository: what an agent's tests do in repositories of their own
// is none of our business. branch is the one that may move, "" for none.
func (g *Git) writeHooks(turnID, branch string, wt *worktree) error {
	dir, attempts := g.hookDir(turnID), g.attemptsFile(turnID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the hooks of turn %s: %w", turnID, err)
	}
	f, err := os.OpenFile(attempts, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("create the attempts file of turn %s: %w", turnID, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("create the attempts file of turn %s: %w", turnID, err)
	}
	head := strings.NewReplacer(
		"@COMMON@", quote(wt.r.common), "@ADMIN@", quote(wt.admin), "@BRANCH@", quote(branch), "@ATTEMPTS@", quote(attempts),
	).Replace(hookHead)
	for name, body := range hookBodies {
		if err := writeProgram(filepath.Join(dir, name), head+body); err != nil {
			return fmt.Errorf("write hook %s: %w", name, err)
		}
	}
	return nil
}

// writeProgram writes a script that can be run at once: no process of ours is started meanwhile that would hold it open for
// writing, which the system answers with "text file busy".
func writeProgram(name, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, []byte(text), 0o755)
}

// quote makes a shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// hookHead leaves in repositories of others, and defines refuse, which writes one line into the attempts file:
// kind, ref, new value, command, separated by tabs.
const hookHead = `#!/bin/sh
# Written by Arbiter for one turn of an agent; it refuses what the turn must not do.
common=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null) || exit 0
[ "$common" -ef @COMMON@ ] || exit 0
branch=@BRANCH@
command=$( (tr '\000\n\t' '   ' </proc/$PPID/cmdline || ps -o args= -p $PPID) 2>/dev/null | sed 's#//[^/@ ]*@#//#g' | cut -c1-300)
mine() { admin=$(git rev-parse --path-format=absolute --git-dir 2>/dev/null); [ "$admin" -ef @ADMIN@ ]; }
refuse() {
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$command" >>@ATTEMPTS@ 2>/dev/null
	echo "arbiter: refused: $4" >&2
	echo "arbiter: leave the work in the files, or commit it on ${branch:-no branch}; the coordinator does the rest (AMP-049)" >&2
}
`

var hookBodies = map[string]string{
	"reference-transaction": `[ "$1" = prepared ] || exit 0
bad=0
while read -r old new ref; do
	case "$new" in *[!0]*) gone=no ;; *) gone=yes ;; esac
	[ "$old" = "$new" ] && [ $gone = no ] && continue
	if [ -n "$branch" ] && [ "$ref" = "refs/heads/$branch" ] && [ $gone = no ]; then continue; fi
	case "$ref" in
	refs/bisect/* | refs/worktree/* | refs/rewritten/*) mine && continue ;;
	refs/* | main-worktree/* | worktrees/*) ;;
	HEAD)
		case "$new" in
		ref:refs/heads/"$branch") continue ;;
		ref:*) ref=${new#ref:} ;;
		*) mine && continue ;;
		esac
		;;
	*) mine && continue ;;
	esac
	[ $gone = no ] && [ "$(git rev-parse -q --verify "$ref" 2>/dev/null)" = "$new" ] && continue
	refuse ref "$ref" "$new" "this turn must not move or create $ref"
	bad=1
done
exit $bad
`,
	"pre-push": `seen=no
while read -r from hash to was; do
	refuse push "$to" "$hash" "this turn must not push to $1 ($to)"
	seen=yes
done
[ $seen = yes ] || refuse push "$1" "" "this turn must not push to $1"
exit 1
`,
	"post-checkout": `now=$(git symbolic-ref -q HEAD) || exit 0
[ "$now" = "refs/heads/$branch" ] && exit 0
[ -z "$branch" ] && ! mine && exit 0
refuse switch "$now" "$2" "this turn must not switch to $now"
exit 1
`,
}

// attempt is one line that a hook wrote.
type attempt struct{ kind, ref, value, command string }

// String says what was tried.
func (a attempt) String() string {
	what := map[string]string{"ref": "move ", "push": "push to ", "switch": "switch to "}[a.kind] + a.ref
	if a.command != "" {
		what += " (" + strings.TrimSpace(a.command) + ")"
	}
	return what
}

// errAttemptsGone says that the attempts file of a turn is not as the hooks leave it; only the agent can have done that.
var errAttemptsGone = errors.New("the file in which the hooks write refused attempts was removed or replaced")

// attempts reads what the hooks of a turn refused, at most the first 200 lines.
func (g *Git) attempts(turnID string) ([]attempt, error) {
	f, err := openPlain(g.attemptsFile(turnID))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, errNotPlain) {
		return nil, errAttemptsGone
	}
	if err != nil {
		return nil, fmt.Errorf("read the attempts of turn %s: %w", turnID, err)
	}
	defer f.Close()
	var all []attempt
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() && len(all) < 200 {
		parts := append(strings.SplitN(strings.ToValidUTF8(s.Text(), "�"), "\t", 4), "", "", "", "")
		all = append(all, attempt{parts[0], parts[1], parts[2], parts[3]})
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) { // the hooks write no such line
		return nil, errAttemptsGone
	}
	return all, s.Err()
}
