package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// arbiter runs the program in this process.
func arbiter(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// sandboxed gives the test a data directory and configuration of its own.
func sandboxed(t *testing.T) (home string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	t.Setenv("ARBITER_HOME", home)
	t.Setenv("ARBITER_CONFIG", filepath.Join(dir, "config.toml"))
	return home
}

// Wrong arguments of every command: exit code 2, the next step, and nothing begun.
func TestUsage(t *testing.T) {
	home := sandboxed(t)
	for args, want := range map[string]string{
		"tsk":                             `there is no command "tsk"; did you mean "arbiter task"?`,
		"new wish":                        `there is no command "new"; did you mean "arbiter task new" or "arbiter token new"?`,
		"approve 1":                       `there is no command "approve"; did you mean "arbiter plan approve"?`,
		"aprove 1":                        `there is no command "aprove"; did you mean "arbiter plan approve"?`,
		"list":                            `there is no command "list"; did you mean "arbiter escalation list", "arbiter memory list" or "arbiter task list"?`,
		"start":                           `there is no command "start"; did you mean "arbiter up"?`,
		"stop":                            `there is no command "stop"; did you mean "arbiter down" or "arbiter stop-all"?`,
		"cancel 1":                        `there is no command "cancel"; did you mean "arbiter terminate"?`,
		"version":                         `there is no command "version"; did you mean "arbiter --version"?`,
		"frobnicate":                      "there is no command \"frobnicate\"\n",
		"tsk --help":                      `there is no command "tsk"; did you mean "arbiter task"?`,
		"task lst -h":                     `arbiter task has no command "lst"; did you mean "arbiter task list"?`,
		"help tsk":                        `there is no command "tsk"; did you mean "arbiter task"?`,
		"help task lst":                   `arbiter task has no command "lst"; did you mean "arbiter task list"?`,
		"help task list all":              `arbiter task list has no command "all"`,
		"completion":                      "arbiter completion needs a command: bash, fish, powershell or zsh",
		"completion tcsh":                 `arbiter completion has no command "tcsh"`,
		"completion bsh":                  `arbiter completion has no command "bsh"; did you mean "arbiter completion bash"?`,
		"completion bash x":               `arbiter completion bash does not take the argument "x"`,
		"--nope":                          "unknown flag: --nope",
		"task":                            "arbiter task needs a command: export, list, new, show or watch",
		"task lst":                        `arbiter task has no command "lst"; did you mean "arbiter task list"?`,
		"task new":                        "task new needs a wish",
		"task new a b c":                  "the wish is 3 words without quotes",
		"task new wish --risk extreme":    `--risk is "extreme"`,
		"task new wish --turns -1":        "--turns and --wall are not negative",
		"task new wish --turns many":      `--turns is "many", want a whole number`,
		"task new wish --wall soon":       `--wall is "soon", want a time such as 90s, 20m or 4h`,
		"memory edit x --confidence much": `--confidence is "much", want a number`,
		"journal export --after -1":       `--after is "-1", want a whole number, not below zero`,
		"token new ada":                   "arbiter token new needs --role",
		"token new ada --role boss":       `--role is "boss", want admin, reader, coordinator, executor or reviewer`,
		"mirror allow":                    "arbiter mirror allow needs a SEQ",
		"task list extra":                 `arbiter task list does not take the argument "extra"`,
		"task list --status dreaming":     `there is no status "dreaming"`,
		"task show":                       "arbiter task show needs a TASK",
		"task show 1 --entries 5000":      "--entries is 5000",
		"task watch":                      "needs a TASK",
		"task export":                     "needs a TASK",
		"task export 1 --format pdf":      `--format is "pdf"`,
		"plan":                            "arbiter plan needs a command",
		"plan show":                       "needs a TASK",
		"plan approve":                    "needs a TASK",
		"plan approve 1 2":                `does not take the argument "2"`,
		"plan reject 1":                   "needs --note",
		"plan edit":                       "needs a TASK",
		"escalation":                      "needs a command",
		"escalation show":                 "needs an ID",
		"escalation resolve":              "needs an ID",
		"escalation resolve x":            "needs either --with or --suggestion",
		"escalation resolve x --with fly": `--with is "fly"`,
		"resume":                          "needs a TASK",
		"resume 1 --next sleep":           `--next is "sleep"`,
		"unlock 1":                        "needs --note",
		"redispatch 1":                    "needs --note",
		"reassign 1":                      "needs --executor or --reviewer",
		"split 1":                         "needs --note",
		"accept":                          "needs a TASK",
		"override 1":                      "needs approved or rejected",
		"override 1 maybe":                `not "maybe"`,
		"override 1 approved":             "needs --note",
		"rollback":                        "needs a TASK",
		"terminate":                       "needs a TASK",
		"deliver":                         "needs a TASK",
		"answer":                          "needs a TASK",
		"raise-limit 1":                   "needs --turns, --wall, --tokens or --cost",
		"raise-limit 1 --turns -3":        "needs --turns, --wall, --tokens or --cost",
		"withdraw":                        "needs a TASK or the id of a command",
		"note 1":                          "needs a TEXT",
		"stop-all now":                    "does not take the argument",
		"thaw now":                        "does not take the argument",
		"message":                         "needs a command",
		"message submit":                  "needs a FILE",
		"message show":                    "needs a MSG_ID",
		"message ack":                     "needs a MSG_ID",
		"message list --limit 0":          "--limit is 0",
		"validate":                        "needs a FILE",
		"validate --format xml x":         `--format is "xml"`,
		"schema a b":                      `does not take the argument "b"`,
		"journal":                         "needs a command",
		"journal show":                    "needs a SEQ or an ID",
		"journal search":                  "needs a QUERY",
		"journal search a typ:b":          `there is no field "typ", did you mean "type:"?`,
		"journal search task:T-2026-001 --task 1": "name a task twice",
		"journal search a --kind x":               `there is no kind "x"`,
		"journal import":                          "needs a FILE",
		"journal backup":                          "needs a FILE",
		"serve now":                               "does not take the argument",
		"up now":                                  "does not take the argument",
		"down now":                                "does not take the argument",
		"status now":                              "does not take the argument",
		"doctor now":                              "only with --try",
		"init now":                                "does not take the argument",
		"init --agent x":                          "is not NAME=PROGRAM",
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := arbiter(t, "", strings.Fields(args)...)
			if code != exitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, "\nnext: ") {
				t.Errorf("code %d, want %d, with %q and a next step; standard error:\n%s", code, exitUsage, want, stderr)
			}
			if stdout != "" {
				t.Errorf("standard output is for machines, and holds:\n%s", stdout)
			}
		})
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a data directory was made")
	}
}

// An argument or the value of a flag that is empty, as a variable of the shell that is not set gives one, is never taken for none.
func TestUsage_empty(t *testing.T) {
	home := sandboxed(t)
	for want, args := range map[string][]string{
		"arbiter was given an empty argument":                {""},
		"arbiter task was given an empty argument":           {"task", ""},
		"arbiter task show was given an empty argument":      {"task", "show", ""},
		"arbiter task new was given an empty argument":       {"task", "new", " "},
		"arbiter note was given an empty argument":           {"note", "1", ""},
		"arbiter journal search was given an empty argument": {"journal", "search", ""},
		"arbiter validate was given an empty argument":       {"validate", ""},
		"arbiter help was given an empty argument":           {"help", ""},
		"--home is empty": {"status", "--home", ""},
		"--task is empty": {"journal", "search", "word", "--task="},
	} {
		code, stdout, stderr := arbiter(t, "", args...)
		if code != exitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, "\nnext: ") || stdout != "" {
			t.Errorf("%q: code %d, want %d and %q; standard error:\n%s%s", args, code, exitUsage, want, stderr, stdout)
		}
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a data directory was made")
	}
}

// A task that is not there: exit code 1, and no coordinator is started to find that out.
func TestUnknownTask(t *testing.T) {
	sandboxed(t)
	for _, args := range []string{
		"task show 7", "task watch T-2026-007", "task export 7", "plan show 7", "plan approve 7 --yes", "plan reject 7 --note x",
		"resume 7", "unlock 7 --note x", "redispatch 7 --note x", "reassign 7 --executor x", "split 7 --note x", "accept 7",
		"override 7 approved --note x", "rollback 7 --yes", "terminate 7 --yes", "deliver 7 --yes", "answer 7 --option x",
		"raise-limit 7 --turns 3", "withdraw 7", "note 7 x", "escalation show 7", "escalation resolve 7 --with resume", "message show x",
		"message ack x", "journal show 7",
	} {
		t.Run(args, func(t *testing.T) {
			code, _, stderr := arbiter(t, "", strings.Fields(args)...)
			if code != exitFailed || !strings.Contains(stderr, "there is no ") && !strings.Contains(stderr, "no command") ||
				!strings.Contains(stderr, "\nnext: ") || strings.Contains(stderr, "starting one") {
				t.Errorf("code %d, want %d and a next step; standard error:\n%s", code, exitFailed, stderr)
			}
		})
	}
	if code, stdout, _ := arbiter(t, "", "status", "--json"); code != 0 || !strings.Contains(stdout, `"running":false`) {
		t.Errorf("status = %d %s", code, stdout)
	}
}

// With --json an error is JSON on standard error, and standard output stays empty.
func TestErrors_json(t *testing.T) {
	sandboxed(t)
	code, stdout, stderr := arbiter(t, "", "--json", "task", "show", "7")
	want := `{"error":{"what":"there is no task \"7\"","means":"Nothing was done.","next":"See the tasks: arbiter task list --all","code":1}}` + "\n"
	if code != exitFailed || stdout != "" || stderr != want {
		t.Errorf("code %d\nstdout %q\nstderr %s\nwant   %s", code, stdout, stderr, want)
	}
}

// Every command has a sentence that says what it does; every group fails on a misspelt command (it would print help and exit 0).
func TestTree(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help is %q", c.CommandPath(), c.Short)
		}
		if c.RunE == nil {
			t.Errorf("%s has no RunE", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := newRoot(&app{})
	walk(root)
	for word, path := range foreign {
		if c, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 || root.Name()+" "+path != c.CommandPath() {
			t.Errorf("%s stands for %s, which is no command", word, path)
		}
	}
}
