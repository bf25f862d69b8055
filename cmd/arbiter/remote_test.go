package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"arbiter/server/tlstest"
)

// Where a command works when it is told of a coordinator elsewhere.
const (
	// there: through the API, as it does on the coordinator's machine.
	there = "there"
	// itsFiles: it needs the files of that machine, and says so.
	itsFiles = "its files"
	// thisMachine: it is about the machine that it runs on, whatever coordinator there is.
	thisMachine = "this machine"
)

// remoteCall is one command, called from another machine while T-1 is approved: what it answers.
type remoteCall struct {
	where string
	args  string
	code  int
	want  string
}

// remoteCalls are all commands. Decisions that the task does not allow are refused by the coordinator's rules, which shows that it was asked.
var remoteCalls = map[string]remoteCall{
	"status":             {there, "", 0, "approved"},
	"task list":          {there, "", 0, "Bills count quantities"},
	"task show":          {there, "1", 0, "deliver, terminate"},
	"task watch":         {there, "1", 4, ""},
	"task new":           {there, "--repo DIR/till --branch feature/next a-wish", 0, "T-"},
	"plan show":          {there, "1", 0, "Acceptance criteria"},
	"plan edit":          {there, "1 -f DIR/nothing", 1, "no such file"},
	"plan approve":       {there, "1 --yes", 3, "approve is not possible"},
	"plan reject":        {there, "1 --note x", 3, "reject is not possible"},
	"accept":             {there, "1", 3, "accept is not possible"},
	"override":           {there, "1 rejected --note x", 3, "override is not possible"},
	"resume":             {there, "1", 3, "resume is not possible"},
	"unlock":             {there, "1 --note x", 3, "unlock is not possible"},
	"split":              {there, "1 --note x", 3, "split is not possible"},
	"answer":             {there, "1 --option allow", 3, ""},
	"withdraw":           {there, "1", 3, ""},
	"raise-limit":        {there, "1 --turns 9", 0, "raise_limit"},
	"reassign":           {there, "1 --executor executor", 3, "reassign is not possible"},
	"rollback":           {there, "2 --yes", 1, "there is no task"},
	"redispatch":         {there, "2 --note x", 1, "there is no task"},
	"terminate":          {there, "2 --yes", 1, "there is no task"},
	"note":               {there, "1 seen-from-afar", 0, "note of T-"},
	"deliver":            {there, "1 --pr --yes", 3, "add [github]"},
	"stop-all":           {there, "", 0, "stop_all is stored"},
	"thaw":               {there, "", 0, "thaw is stored"},
	"escalation list":    {there, "", 0, "o"},
	"escalation show":    {there, "x", 1, "there is no escalation"},
	"escalation resolve": {there, "x --with resume", 1, "there is no escalation"},
	"escalation history": {there, "", 0, ""},
	"journal search":     {there, "--kind command", 0, "Ada Byron"},
	"journal show":       {there, "1", 0, "token_created"},
	"message list":       {there, "", 0, "review_verdict"},
	"message show":       {there, "nothing", 1, "there is no message"},
	"message ack":        {there, "nothing", 1, "there is no message"},
	"message submit":     {there, "DIR/nothing.json", 1, ""},
	"bus agents":         {there, "", 1, "this coordinator has no bus"},
	"bus queue":          {there, "", 1, "this coordinator has no bus"},
	"bus dead":           {there, "", 1, "this coordinator has no bus"},
	"bus drop":           {there, "--all --yes", 1, "this coordinator has no bus"},
	"bus resend":         {there, "--all", 1, "this coordinator has no bus"},
	"hooks":              {there, "", 0, "No webhook is configured"},
	"events list":        {there, "", 0, ""},
	"events dead":        {there, "", 0, ""},
	"events resend":      {there, "00000000-0000-0000-0000-000000000000", 1, ""},
	"mcp":                {there, "--role executor --task nothing", 1, "there is no task"},

	"up": {itsFiles, "", 2, ""}, "down": {itsFiles, "", 2, ""}, "serve": {itsFiles, "", 2, ""},
	"token new": {itsFiles, "x --role reader", 2, ""}, "token list": {itsFiles, "", 2, ""}, "token revoke": {itsFiles, "x", 2, ""},
	"journal verify": {itsFiles, "", 2, ""}, "journal export": {itsFiles, "", 2, ""}, "journal import": {itsFiles, "x", 2, ""},
	"journal rebuild": {itsFiles, "", 2, ""}, "journal backup": {itsFiles, "DIR/b", 2, ""}, "journal copy": {itsFiles, "--to DIR/c", 2, ""},
	"journal archive": {itsFiles, "--before 1d --to DIR/a", 2, ""}, "journal grant": {itsFiles, "x", 2, ""},
	"mirror status": {itsFiles, "", 2, ""}, "mirror push": {itsFiles, "", 2, ""}, "mirror allow": {itsFiles, "1", 2, ""},
	"memory list": {itsFiles, "", 2, ""}, "memory show": {itsFiles, "x", 2, ""}, "memory edit": {itsFiles, "x --text y", 2, ""},
	"memory delete": {itsFiles, "x", 2, ""}, "memory run": {itsFiles, "", 2, ""}, "why": {itsFiles, "a:1", 2, ""}, "doctor": {itsFiles, "", 2, ""},
	"notify test": {itsFiles, "", 2, ""}, "task export": {itsFiles, "1", 2, ""},

	"demo": {where: thisMachine}, "demo-agent": {where: thisMachine}, "init": {where: thisMachine}, "events types": {where: thisMachine},
	"parse": {where: thisMachine}, "schema": {where: thisMachine}, "validate": {where: thisMachine}, "worker check": {where: thisMachine},
	"worker status": {where: thisMachine}, "help": {where: thisMachine}, "completion bash": {where: thisMachine},
	"completion fish": {where: thisMachine}, "completion powershell": {where: thisMachine}, "completion zsh": {where: thisMachine},
}

// leaves are all commands that do something, by their path without the program's name.
func leaves(c *cobra.Command) (all []string) {
	for _, sub := range c.Commands() {
		if len(sub.Commands()) == 0 {
			_, name, _ := strings.Cut(sub.CommandPath(), " ")
			all = append(all, name)
		}
		all = append(all, leaves(sub)...)
	}
	return all
}

// Every command works against a coordinator elsewhere over TLS, with nothing of its files, or says that it needs them; docs/api.md names those.
func TestRemote_commands(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	cert, key := tlstest.SelfSigned(t, "arbiter.test")
	d.env = append(d.env, "ARBITER_LISTEN_TCP=127.0.0.1:0")
	d.arbiter("--set", "policy.undo=0s", "--set", "listen.tls_cert="+cert, "--set", "listen.tls_key="+key, "up")
	away := d.remote(t, cert, "Ada Byron")
	d.wish(0)
	call := func(line string) (code int, said string) {
		c := exec.CommandContext(t.Context(), away.self, strings.Fields(strings.ReplaceAll(line, "DIR", d.dir))...)
		var out bytes.Buffer
		c.Env, c.Dir, c.Stdout, c.Stderr = away.env, away.dir, &out, &out
		if err := c.Run(); err != nil {
			x, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatal(err)
			}
			code = x.ExitCode()
		}
		return code, out.String()
	}
	call("task watch 1")
	if code, said := call("plan approve 1 --yes --wait"); code != exitWaits {
		t.Fatalf("the plan was not approved from afar: %d\n%s", code, said)
	}
	// What stops and thaws, and what begins another task, comes last.
	order := func(name string) int { return slices.Index([]string{"stop-all", "thaw", "task new"}, name) }
	names := leaves(newRoot(&app{}))
	slices.SortStableFunc(names, func(a, b string) int { return order(a) - order(b) })
	for _, name := range names {
		x, ok := remoteCalls[name]
		if !ok {
			t.Errorf("arbiter %s: it is not known how it works with --url; say so in this table and in docs/api.md", name)
			continue
		}
		if x.where == thisMachine {
			continue
		}
		code, said := call(name + " " + x.args)
		away := strings.Contains(said, "which is on another machine")
		if code != x.code || !strings.Contains(said, x.want) || away != (x.where == itsFiles) {
			t.Errorf("arbiter %s %s: exit code %d, want %d and %q:\n%s", name, x.args, code, x.code, x.want, said)
		}
	}
	left, err := os.ReadDir(away.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v on this machine: %v", left, err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range remoteCalls {
		if x.where == itsFiles && !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/api.md does not say that arbiter %s needs the files of the coordinator's machine", name)
		}
		if !slices.Contains(names, name) {
			t.Errorf("there is no command %s any more", name)
		}
	}
}
