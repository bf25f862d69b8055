package amp

import (
	"path"
	"slices"
	"strings"
)

// PermissionType is what an agent asks to do.
type PermissionType string

// The types of permission.
const (
	PermitRun   PermissionType = "run"   // run a command
	PermitWrite PermissionType = "write" // change files
	PermitRead  PermissionType = "read"  // read files
	PermitFetch PermissionType = "fetch" // reach something over the network
	PermitTool  PermissionType = "tool"  // call another tool
)

// PermissionTypes are all of them.
func PermissionTypes() []PermissionType {
	return []PermissionType{PermitRun, PermitWrite, PermitRead, PermitFetch, PermitTool}
}

// Permission is one request of an agent, verbatim and untrusted.
type Permission struct {
	Type PermissionType `json:"type"`
	// Tool is the agent's own name of the tool.
	Tool string `json:"tool,omitzero"`
	// Command is the exact command line of PermitRun.
	Command string `json:"command,omitzero"`
	// Paths are the files that it names, as it names them: relative ones are relative to Dir.
	Paths []string `json:"paths,omitzero"`
	Dir   string   `json:"dir,omitzero"`
	// Request is all that the agent said, as JSON or text; Reason is the agent's own.
	Request string `json:"request,omitzero"`
	Reason  string `json:"reason,omitzero"`
}

// Same reports whether q asks for the same thing: the same type, tool, command, folder and files.
func (p *Permission) Same(q *Permission) bool {
	return p.Type == q.Type && p.Tool == q.Tool && p.Command == q.Command && p.Dir == q.Dir && slices.Equal(p.Paths, q.Paths) &&
		(p.Command != "" || len(p.Paths) > 0 || p.Request == q.Request)
}

// Text is the request in one line: the command, the files, or what the agent said.
func (p *Permission) Text() string {
	what := p.Command
	if what == "" {
		what = strings.Join(p.Paths, " ")
	}
	if what == "" {
		what = p.Request
	}
	return string(p.Type) + " " + what
}

// Ruling is what a rule says to a request.
type Ruling string

// The rulings. RuleEscalate says that no admin gives it from a card: the request exceeds what the plan's risk authorises (AMP-172).
const (
	RuleAllow    Ruling = "allow"
	RuleAsk      Ruling = "ask"
	RuleDeny     Ruling = "deny"
	RuleEscalate Ruling = "escalate"
)

// Rulings are all of them, the mildest first.
func Rulings() []Ruling { return []Ruling{RuleAllow, RuleAsk, RuleDeny, RuleEscalate} }

// PermissionRule answers requests before a person does. Empty fields match everything.
type PermissionRule struct {
	Type PermissionType
	// Tool and Command are patterns in which * stands for any text; a command with shell operators (; & | < > ` $( or a line break) is
	// matched by no pattern that ends in *, since more than the pattern's author meant may follow.
	Tool    string
	Command string
	// Risk are the risk levels of the plan at which the rule counts.
	Risk   []RiskLevel
	Ruling Ruling
	// Reason is what the agent is told when it is denied, and the admin when it is escalated.
	Reason string
}

// matches reports whether the rule is about the request at that risk.
func (r *PermissionRule) matches(p *Permission, risk RiskLevel) bool {
	return (r.Type == "" || r.Type == p.Type) && (len(r.Risk) == 0 || slices.Contains(r.Risk, risk)) &&
		(r.Tool == "" || wildcard(r.Tool, p.Tool)) && (r.Command == "" || r.command(p.Command))
}

func (r *PermissionRule) command(line string) bool {
	if line == r.Command {
		return true
	}
	if r.Ruling == RuleAllow && strings.ContainsAny(line, ";&|<>`\n\r") || r.Ruling == RuleAllow && strings.Contains(line, "$(") {
		return false
	}
	return wildcard(r.Command, line)
}

// wildcard matches text with a pattern in which * stands for any text.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// RulePermission judges a request of a task's agent: what no rule can grant first, then the rules in their order, then what follows from the
// plan. dir is the folder of the turn. The reason says why in one sentence; of RuleAsk it is why it is not obvious.
//
//   - Changing something outside the folder, or in .git, exceeds every plan's authority, as does reaching the network at low risk.
//   - Changing files within the plan's allowed paths, reading below the folder, and running exactly one of the plan's checks is allowed.
//   - Everything else is asked.
func (t *Task) RulePermission(p *Permission, dir string, rules []PermissionRule) (Ruling, string) {
	risk, allowed := High, []string(nil)
	var checks [][]string
	if t.Plan != nil {
		risk, allowed, checks = t.Plan.RiskLevel, t.Plan.AllowedPaths, t.Plan.Checks
	}
	inside, all := within(p, dir)
	if p.Type == PermitWrite {
		switch {
		case !all:
			return RuleEscalate, "it would change files outside of its folder"
		case slices.ContainsFunc(inside, isGitFile):
			return RuleEscalate, "it would change files of git itself"
		}
	}
	for i := range rules {
		if r := &rules[i]; r.matches(p, risk) {
			why := r.Reason
			if why == "" {
				why = "the configuration says " + string(r.Ruling) + " to this"
			}
			return r.Ruling, why
		}
	}
	switch p.Type {
	case PermitFetch:
		if risk == Low {
			return RuleEscalate, "a plan of low risk authorises no use of the network"
		}
	case PermitWrite:
		if len(inside) > 0 && !slices.ContainsFunc(inside, func(f string) bool { return !PathAllowed(allowed, f) }) {
			return RuleAllow, "within the plan's allowed paths"
		}
		return RuleAsk, "not within the plan's allowed paths"
	case PermitRead:
		if all && len(inside) > 0 {
			return RuleAllow, "within the folder of the turn"
		}
	case PermitRun:
		for _, argv := range checks {
			if p.Command == strings.Join(argv, " ") {
				return RuleAllow, "one of the plan's checks"
			}
		}
	case PermitTool:
	}
	return RuleAsk, ""
}

// within are the files of a request relative to dir, and whether every one is below it. A request that names no file has none outside.
func within(p *Permission, dir string) (inside []string, all bool) {
	all = true
	for _, f := range p.Paths {
		if !path.IsAbs(f) {
			f = path.Join(dir, path.Join("/", relativeTo(p.Dir, dir)), f)
		}
		f = path.Clean(f)
		rel, ok := strings.CutPrefix(f, strings.TrimSuffix(dir, "/")+"/")
		if !ok || dir == "" {
			all = false
			continue
		}
		inside = append(inside, rel)
	}
	return inside, all
}

// relativeTo is the part of d below dir, "" when it is dir or not below it.
func relativeTo(d, dir string) string {
	rel, ok := strings.CutPrefix(path.Clean(d), strings.TrimSuffix(dir, "/")+"/")
	if !ok {
		return ""
	}
	return rel
}

func isGitFile(f string) bool {
	first, _, _ := strings.Cut(f, "/")
	return strings.EqualFold(first, ".git")
}
