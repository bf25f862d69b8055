package arbiter_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed are the arrows of the design as data: which packages of this module a package may import. "x/..." stands for what lies
// below x.
var allowed = map[string][]string{
	"amp":      {},
	"gitops":   {"amp", "scratch"},
	"forge":    {"amp"},
	"ssot":     {"amp"},
	"ssot/...": {"amp", "ssot"},
	// The mirror goes the same way to GitHub as pull requests do.
	"ssot/github": {"amp", "ssot", "forge"},
	// The durable stores share the queue of their writer, the form of their projections and their index of searches.
	"ssot/sqlite":   {"amp", "scratch", "ssot", "ssot/group", "ssot/projection", "ssot/search"},
	"ssot/postgres": {"amp", "ssot", "ssot/group", "ssot/projection", "ssot/search"},
	"providers":     {"amp"},
	"providers/...": {"amp", "providers", "providers/sandbox", "providers/sacp", "providers/program", "providers/brief"},
	// A worker runs agents of any adapter, and imports none; it speaks as an agent on the bus does.
	"providers/bus/worker": {"amp", "providers", "providers/bus"},
	// The planning chain runs agents of any adapter, and imports none.
	"providers/planning":              {"amp", "providers", "providers/sacp", "providers/brief", "providers/planning/sentient"},
	"providers/planning/memory":       {"amp", "providers", "providers/sacp", "providers/brief", "providers/planning", "providers/planning/sentient"},
	"providers/planning/sentient":     {"amp", "providers/sacp"},
	"providers/planning/planningtest": {"amp", "providers", "providers/agenttest", "providers/planning"},
	// The tools of all adapters import no adapter.
	"providers/sandbox":   {"amp", "scratch"},
	"providers/sacp":      {"amp"},
	"providers/program":   {"amp", "providers", "providers/sandbox", "providers/brief"},
	"providers/brief":     {"amp", "providers", "providers/sacp"},
	"providers/agenttest": {"amp", "providers", "providers/sandbox", "providers/program", "providers/modeltest"},
	// A model that says what a test wants knows nothing of ours.
	"providers/modeltest": {},
	"coordinator":         {"amp", "ssot", "providers"},
	"server":              {"amp", "coordinator", "providers/bus"}, // it is the bus's doors
	"server/tlstest":      {},
	"scratch":             {}, // a leaf under what makes temporary folders
	"amp/plantext":        {"amp"},
	// Cleaning what others wrote is a leaf under the screens that serves other channels to people too.
	"notify":              {"amp", "tui/textsafe"},
	"notify/telegramtest": {},
	"tui/textsafe":        {},
	"tui":                 {"amp", "amp/plantext", "tui/..."},
	"tui/...":             {"tui/..."},
	"tui/tuitest":         {"amp", "tui", "tui/..."},
	"cmd/...":             {"..."},
}

// owners are libraries that one part of the module hides from the others.
var owners = map[string][]string{
	"modernc.org/sqlite":                     {"ssot/sqlite"},
	"github.com/pressly/goose":               {"ssot/sqlite", "ssot/postgres"},
	"github.com/jackc/pgx":                   {"ssot/postgres"},
	"github.com/go-git/go-git":               {"gitops"},
	"github.com/google/go-github":            {"ssot/github", "forge"},
	"github.com/spf13/cobra":                 {"cmd/..."},
	"github.com/pelletier/go-toml":           {"cmd/...", "tui", "amp/plantext"}, // the configuration, and a plan in an editor
	"github.com/adrg/xdg":                    {"cmd/...", "tui"},
	"github.com/charmbracelet/lipgloss":      {"tui/theme", "tui/preterm"},
	"github.com/charmbracelet/bubbletea":     {"tui", "tui/...", "cmd/..."},
	"github.com/landlock-lsm/go-landlock":    {"providers/sandbox"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/..."},
	"github.com/prometheus/":                 {"cmd/..."},
	"go.opentelemetry.io/":                   {"cmd/..."},
	"github.com/coder/websocket":             {"server", "providers/bus/worker", "cmd/..."},
	"github.com/santhosh-tekuri/jsonschema/": {},
}

// may reports whether package from may import package to; both without the module's name.
func may(from, to string) bool {
	row, exact := allowed[from]
	if top, _, below := strings.Cut(from, "/"); below && !exact {
		row = allowed[top+"/..."]
	}
	return among(to, row)
}

func among(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		dir, tree := strings.CutSuffix(p, "...")
		return pkg == p || tree && strings.HasPrefix(pkg, dir)
	})
}

// packages are what each package of the module imports, without its tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if from, ok := strings.CutPrefix(words[0], "arbiter/"); ok {
			found[from] = words[1:]
		}
	}
	return found
}

func TestImports_followTheArrows(t *testing.T) {
	t.Parallel()
	found := packages(t)
	if len(found) < 10 {
		t.Fatalf("go list found only %d packages", len(found))
	}
	for from, imports := range found {
		if _, ok := allowed[strings.Split(from, "/")[0]]; !ok && !strings.HasPrefix(from, "cmd/") {
			t.Errorf("package %s has no row in the table of allowed imports", from)
		}
		for _, path := range imports {
			if to, ours := strings.CutPrefix(path, "arbiter/"); ours && !may(from, to) {
				t.Errorf("package %s imports %s, which the design does not allow", from, to)
			}
			for module, owner := range owners {
				if strings.HasPrefix(path, module) && !among(from, owner) {
					t.Errorf("package %s imports %s, which only %v may", from, path, owner)
				}
			}
		}
	}
}

func TestMay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"coordinator", "amp", true},
		{"coordinator", "ssot", true},
		{"coordinator", "gitops", false},
		{"coordinator", "ssot/sqlite", false},
		{"amp", "ssot", false},
		{"ssot/sqlite", "ssot", true},
		{"ssot/sqlite", "ssot/memory", false},
		{"providers/command", "providers/sandbox", true},
		{"providers/command", "ssot", false},
		{"tui", "coordinator", false},
		{"tui", "tui/ui/bar", true},
		{"tui/ui/bar", "amp", false},
		{"tui/ui/bar", "tui/ui", true},
		{"tui/tuitest", "amp", true},
		{"server", "coordinator", true},
		{"server", "ssot", false},
		{"cmd/arbiter", "gitops", true},
		{"nowhere", "amp", false},
	} {
		if got := may(tc.from, tc.to); got != tc.want {
			t.Errorf("may(%s, %s) = %v, want %v", tc.from, tc.to, got, tc.want)
		}
	}
}
