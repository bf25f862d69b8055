package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/providers/agenttest"
	"arbiter/providers/command/scripted"
	"arbiter/providers/modeltest"
	"arbiter/providers/sandbox"
	"arbiter/tui/tuitest"
)

func TestMain(m *testing.M) {
	if os.Getenv("ARBITER_TEST_SELF") != "" || len(os.Args) > 1 && os.Args[1] == sandbox.ShimCommand {
		stop, unwatched := profiled(), watched()
		code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		unwatched()
		stop()
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"arbiter": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	t.Cleanup(closeDatabase)
	testscript.Run(t, scripts(filepath.Join("testdata", "script")))
}

// scripts are the parameters of the scripts in a folder.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       tuitest.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "postgres":
				return database() == nil, nil
			case "programs":
				return os.Getenv(agenttest.RealVar) != "", nil
			case "caged":
				l := sandbox.Leash{Mode: sandbox.Auto}
				return l.Confined() != "none" && l.Confined() != string(sandbox.Off), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"bot":     bot,
			"till":    till,
			"field":   field,
			"code":    code,
			"corrupt": corrupt,
			"excerpt": excerpt,
			"agents":  agents,
			"model":   model,
			"hook":    hook,
			"hooked":  hooked,
			"knock":   knock,
			"github":  startForge,
			"happen":  happen,
			"frames":  frames,
			"hub":     hub,
			"schema":  schema,
			"wire":    wire,
		},
	}
}

// longHome is the data directory of longhome.txtar.
const longHome = "a-data-directory/whose-path-is-longer-than/what-a-unix-socket/can-have-on-any-system/so-that-the-socket/lies-elsewhere"

// setup gives a script a data directory and a configuration of its own, and ends the coordinator that it leaves behind.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	e.Values["hook"], e.Values["forge"] = &hookServer{}, &forgeServer{}
	audit, err := filepath.Abs("../../docs/check_journal.py")
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"ARBITER_HOME": home, "XDG_CONFIG_HOME": filepath.Join(e.WorkDir, "config"), "XDG_DATA_HOME": filepath.Join(e.WorkDir, "data"),
		"XDG_RUNTIME_DIR": "", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": e.WorkDir, "TZ": "UTC",
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.com", "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@example.com",
		"PATH": withoutPrograms(e.Getenv("PATH")), "EDITOR": "", "VISUAL": "", "AUDIT": audit, "LONGHOME": filepath.Join(e.WorkDir, longHome),
	} {
		e.Setenv(k, v)
	}
	e.Values[telegramKey{}] = &telegramRig{}
	e.Defer(func() {
		a := &app{stderr: io.Discard, stdout: io.Discard}
		for _, dir := range []string{home, filepath.Join(e.WorkDir, "other"), filepath.Join(e.WorkDir, longHome)} {
			if _, err := a.down(context.Background(), dir, time.Minute); err != nil {
				e.T().Log("end the coordinator of the script:", err)
			}
		}
	})
	return nil
}

// withoutPrograms is a search path without the folders that hold vendors' programs: what is installed here is not what a script is about.
func withoutPrograms(path string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return slices.ContainsFunc(kinds, func(name string) bool {
			_, err := exec.LookPath(filepath.Join(dir, name))
			return err == nil
		})
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// till makes the repository of the scripted agents: till DIR.
func till(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: till DIR")
	}
	ts.Check(scripted.Repository(ts.MkAbs(args[0])))
}

// agents writes a configuration with the scripted agents, and what is given as further lines.
func agents(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: agents [LINE...]")
	}
	var b strings.Builder
	for _, role := range []string{"coordinator", "executor", "reviewer"} {
		fmt.Fprintf(&b, "[agents.%s]\nkind = \"command\"\nsandbox = \"off\"\nvendor = %q\nargv = [\"arbiter\", \"demo-agent\", \"--role\", %q]\n", role, role, role)
	}
	b.WriteString("[roles]\ncoordinator = \"coordinator\"\nexecutor = \"executor\"\nreviewer = \"reviewer\"\n")
	b.WriteString(strings.Join(args, "\n"))
	file := ts.MkAbs("config/arbiter/config.toml")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, []byte(b.String()), 0o600))
}

// model serves a scripted model until the script ends, a list of scripts as JSON, and fills its address and the script's folder into a
// configuration, where they stand as MODEL_URL and WORK: model FILE CONFIG.
func model(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model FILE CONFIG")
	}
	var scripts []modeltest.Script
	year := time.Now().UTC().Format("2006") // of the ids of tasks
	ts.Check(json.Unmarshal([]byte(strings.ReplaceAll(ts.ReadFile(args[0]), "YEAR", year)), &scripts))
	s, err := modeltest.Listen("127.0.0.1:0", scripts...)
	ts.Check(err)
	ts.Defer(s.Close)
	text := strings.NewReplacer("MODEL_URL", s.URL(), "WORK", ts.MkAbs("."), "PROGRAMS", os.Getenv(agenttest.RealVar)).Replace(ts.ReadFile(args[1]))
	file := ts.MkAbs("config/arbiter/config.toml")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, []byte(text), 0o600))
}

// field puts one field of the JSON on standard output into a variable: field VAR a.b.0.c.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field VAR PATH")
	}
	var v any
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &v))
	for part := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i := 0
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				ts.Fatalf("field %s: there is no element %s in %v", args[1], part, x)
			}
			v = x[i]
		default:
			ts.Fatalf("field %s: %v has no %s", args[1], v, part)
		}
	}
	if v == nil {
		ts.Fatalf("field %s is not there", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// code runs arbiter and wants exactly this exit code: code 3 plan approve T-2026-001.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N ARG...")
	}
	err := ts.Exec("arbiter", args[1:]...)
	got := "0"
	if x, ok := err.(interface{ ExitCode() int }); ok {
		got = fmt.Sprint(x.ExitCode())
	} else if err != nil {
		ts.Fatalf("arbiter: %v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// corrupt changes one occurrence of a text in a file to another one of the same length: corrupt FILE OLD NEW.
func corrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: corrupt FILE OLD NEW, both of the same length")
	}
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	if !strings.Contains(string(data), args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(string(data), args[1], args[2])), 0o600))
}

// excerpt writes one of the programs in Python that docs/agents.md shows into a file: excerpt N FILE, counted from 1.
func excerpt(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 2 {
		n, _ = strconv.Atoi(args[0])
	}
	if neg || n == 0 {
		ts.Fatalf("usage: excerpt N FILE")
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(ts.Getenv("AUDIT")), "agents.md"))
	ts.Check(err)
	parts := strings.Split(string(text), "```python\n")
	if n >= len(parts) {
		ts.Fatalf("docs/agents.md shows %d programs", len(parts)-1)
	}
	code, _, _ := strings.Cut(parts[n], "```")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(code), 0o600))
}
