package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/server"
	"arbiter/tui/tuitest"
)

// docs/openapi.json is made from the routes that are served.
func TestDocs_openapi(t *testing.T) {
	t.Parallel()
	want, err := server.OpenAPI("1", furtherRoutes(nil))
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/openapi.json"
	if tuitest.Updating() {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is stale: go test ./cmd/arbiter -run %s -update", file, t.Name())
	}
}

// docBlock finds the blocks of a document that are run, and those that say what they print.
var docBlock = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// The walks of docs/api.md, docs/events.md and docs/bus.md are what happens.
func TestDocs_walks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed: the walks of docs/api.md, docs/events.md and docs/bus.md were not run")
	}
	api := "agents '[listen]' 'tcp = \"127.0.0.1:0\"'\nexec arbiter up\nexec arbiter status --json\nfield ADDR coordinator.listen\nenv URL=http://$ADDR\n"
	reported := "till repo\nagents '[policy]' 'undo = \"0s\"' '[listen]' 'tcp = \"127.0.0.1:0\"' '[hooks]' 'github_secret_file = \"../../github.secret\"' " +
		"'[[hooks.ci]]' 'name = \"builds\"' 'secret_file = \"../../builds.secret\"'\nexec sh -c 'umask 77; echo s3cret-one > github.secret; echo s3cret-two > builds.secret'\n" +
		"cd repo\ncode 4 task new --wait --branch feature/total 'A bill with two teas only charges one. Make lib/total.awk count the quantity.'\ncode 4 plan approve 1 --yes --wait\ncd ..\n" +
		"exec arbiter task show 1 --json\nfield COMMIT commit\nexec arbiter status --json\nfield ADDR coordinator.listen\nenv URL=http://$ADDR\n"
	for name, before := range map[string]string{
		"api": api, "events": api, "hooks": reported,
		"bus": "agents '[bus]' 'listen = \"127.0.0.1:0\"'\nexec arbiter up\nexec arbiter bus agents --json\nfield ADDR listen\nenv BUS=http://$ADDR\n",
	} {
		if _, err := exec.LookPath("openssl"); err != nil && name == "hooks" {
			t.Log("openssl is not installed: the walk of docs/hooks.md was not run")
			continue
		}
		t.Run(name, func(t *testing.T) { walk(t, name, before) })
	}
}

// walk runs the blocks of a document.
func walk(t *testing.T, name, before string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	script.WriteString(before)
	walks := 0
	for _, m := range docBlock.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "sh" {
			walks++
			fmt.Fprintf(&script, "exec sh -e walk%d.sh\n", walks)
			fmt.Fprintf(&files, "-- walk%d.sh --\n%s", walks, m[2])
			continue
		}
		for line := range strings.Lines(m[2]) {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
			fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll(pattern, "'", "''"))
		}
	}
	if walks < 3 {
		t.Fatalf("docs/%s.md has %d walks", name, walks)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := scripts(dir)
	p.UpdateScripts = false
	testscript.Run(t, p)
}
