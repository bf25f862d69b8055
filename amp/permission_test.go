package amp_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

func TestRulePermission_AMP_172(t *testing.T) {
	t.Parallel()
	const dir = "/w/t-1"
	rules := []amp.PermissionRule{
		{Type: amp.PermitRun, Command: "go test *", Ruling: amp.RuleAllow},
		{Type: amp.PermitRun, Command: "git push*", Ruling: amp.RuleEscalate, Reason: "only the admin pushes"},
		{Type: amp.PermitRun, Command: "*rm -rf*", Ruling: amp.RuleDeny},
		{Type: amp.PermitFetch, Risk: []amp.RiskLevel{amp.High}, Ruling: amp.RuleDeny},
		{Tool: "mcp__docs__*", Ruling: amp.RuleAllow},
		{Type: amp.PermitWrite, Ruling: amp.RuleAllow},
	}
	plan := func(risk amp.RiskLevel) *amp.Plan {
		return &amp.Plan{RiskLevel: risk, AllowedPaths: []string{"src/**"}, Checks: [][]string{{"make", "check"}}}
	}
	write := func(paths ...string) amp.Permission { return amp.Permission{Type: amp.PermitWrite, Paths: paths} }
	run := func(command string) amp.Permission { return amp.Permission{Type: amp.PermitRun, Command: command} }
	for name, tc := range map[string]struct {
		p     amp.Permission
		plan  *amp.Plan
		rules []amp.PermissionRule
		want  amp.Ruling
	}{
		"a write that the plan allows":       {write("src/a.go", dir+"/src/b.go"), plan(amp.High), nil, amp.RuleAllow},
		"a write beside the allowed paths":   {write("docs/a.md"), plan(amp.Low), nil, amp.RuleAsk},
		"one of two beside them":             {write("src/a.go", "docs/a.md"), plan(amp.Low), nil, amp.RuleAsk},
		"a write that names no file":         {write(), plan(amp.Low), nil, amp.RuleAsk},
		"a write outside":                    {write("/etc/passwd"), plan(amp.High), rules, amp.RuleEscalate},
		"a write to a sibling":               {write("/w/t-10/src/a"), plan(amp.High), rules, amp.RuleEscalate},
		"a write out by dots":                {write("src/../../x"), plan(amp.High), rules, amp.RuleEscalate},
		"a write to git's own files":         {write(".git/config"), plan(amp.High), rules, amp.RuleEscalate},
		"a write to the file .git":           {write(".git"), plan(amp.High), rules, amp.RuleEscalate},
		"a write to .GIT":                    {write(".GIT/hooks/x"), plan(amp.High), rules, amp.RuleEscalate},
		"a write from a folder below":        {amp.Permission{Type: amp.PermitWrite, Dir: dir + "/src", Paths: []string{"a.go"}}, plan(amp.Low), nil, amp.RuleAllow},
		"a write without a plan":             {write("a"), nil, nil, amp.RuleAllow},
		"a read below the folder":            {amp.Permission{Type: amp.PermitRead, Paths: []string{"go.mod"}}, plan(amp.Low), nil, amp.RuleAllow},
		"a read elsewhere":                   {amp.Permission{Type: amp.PermitRead, Paths: []string{"/etc/hosts"}}, plan(amp.Low), nil, amp.RuleAsk},
		"one of the checks":                  {run("make check"), plan(amp.High), nil, amp.RuleAllow},
		"a check and more":                   {run("make check; curl x"), plan(amp.High), nil, amp.RuleAsk},
		"any command":                        {run("go generate ./..."), plan(amp.Low), nil, amp.RuleAsk},
		"a command of a rule":                {run("go test ./..."), plan(amp.Low), rules, amp.RuleAllow},
		"a command of a rule, and another":   {run("go test ./... && curl x | sh"), plan(amp.Low), rules, amp.RuleAsk},
		"one with a substitution":            {run("go test $(curl x)"), plan(amp.Low), rules, amp.RuleAsk},
		"one with a line break":              {run("go test x\ncurl y"), plan(amp.Low), rules, amp.RuleAsk},
		"a rule that escalates":              {run("git push origin; true"), plan(amp.Low), rules, amp.RuleEscalate},
		"a rule that denies":                 {run("true && rm -rf ."), plan(amp.Low), rules, amp.RuleDeny},
		"the network at low risk":            {amp.Permission{Type: amp.PermitFetch, Request: "https://x"}, plan(amp.Low), nil, amp.RuleEscalate},
		"the network at medium risk":         {amp.Permission{Type: amp.PermitFetch, Request: "https://x"}, plan(amp.Medium), rules, amp.RuleAsk},
		"the network at high risk by a rule": {amp.Permission{Type: amp.PermitFetch}, plan(amp.High), rules, amp.RuleDeny},
		"a tool of a rule":                   {amp.Permission{Type: amp.PermitTool, Tool: "mcp__docs__find"}, plan(amp.Low), rules, amp.RuleAllow},
		"another tool":                       {amp.Permission{Type: amp.PermitTool, Tool: "mcp__other"}, plan(amp.Low), rules, amp.RuleAsk},
		"no type":                            {amp.Permission{Tool: "odd"}, plan(amp.Low), nil, amp.RuleAsk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := &amp.Task{Plan: tc.plan}
			got, why := task.RulePermission(&tc.p, dir, tc.rules)
			if got != tc.want || got != amp.RuleAsk && why == "" {
				t.Errorf("RulePermission = %s %q, want %s", got, why, tc.want)
			}
		})
	}
}

func TestGranted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 26, 10, 0, 0, 0, time.UTC)
	held := amp.Permission{Type: amp.PermitRun, Command: "make gen", Dir: "/w"}
	task := &amp.Task{Grants: []amp.Grant{{Permission: held, Until: now.Add(time.Hour), By: "mira"}}}
	same := held
	same.Reason, same.Request = "other words", "{}"
	other, elsewhere := held, held
	other.Command, elsewhere.Dir = "make gen x", "/v"
	blind := amp.Permission{Type: amp.PermitTool, Tool: "t", Request: "a"}
	blinder := blind
	blinder.Request = "b"
	task.Grants = append(task.Grants, amp.Grant{Permission: blind, Until: now.Add(time.Hour)})
	for name, tc := range map[string]struct {
		p    amp.Permission
		at   time.Time
		want bool
	}{
		"the same": {same, now, true}, "another command": {other, now, false}, "another folder": {elsewhere, now, false},
		"over": {same, now.Add(time.Hour), false}, "the same tool call": {blind, now, true}, "another tool call": {blinder, now, false},
	} {
		if got := task.Granted(&tc.p, tc.at) != nil; got != tc.want {
			t.Errorf("%s: granted = %v", name, got)
		}
	}
}

func FuzzRulePermission(f *testing.F) {
	f.Add("src/a", "/w/t", "go test x", "go test *")
	f.Add("../x", "/", "", "*")
	f.Fuzz(func(t *testing.T, file, dir, command, pattern string) {
		task := &amp.Task{Plan: &amp.Plan{RiskLevel: amp.Low, AllowedPaths: []string{"**"}}}
		p := amp.Permission{Type: amp.PermitWrite, Paths: []string{file}}
		got, _ := task.RulePermission(&p, dir, nil)
		at := path.Clean(file)
		if !path.IsAbs(file) {
			at = path.Join(dir, file)
		}
		if got == amp.RuleAllow && !strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") {
			t.Errorf("%q is allowed below %q", file, dir)
		}
		q := amp.Permission{Type: amp.PermitRun, Command: command}
		rule := []amp.PermissionRule{{Command: pattern, Ruling: amp.RuleAllow}}
		if got, _ := task.RulePermission(&q, dir, rule); got == amp.RuleAllow && command != pattern && strings.ContainsAny(command, ";|&\n") && pattern != "" {
			t.Errorf("%q is allowed by %q", command, pattern)
		}
	})
}
