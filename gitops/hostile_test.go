package gitops

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"arbiter/amp"
)

// heard is a server that writes down what it is asked, and answers that there is nothing.
type heard struct {
	*httptest.Server
	mu   sync.Mutex
	asks []string
}

func listen(t *testing.T) *heard {
	t.Helper()
	h := &heard{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asks = append(h.asks, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		http.NotFound(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asks)
}

// infest writes into a repository's configuration all that an agent could lead a push astray with, or run a program by.
func infest(b *bench, evil string, real ...string) (ran string) {
	b.t.Helper()
	top := filepath.Dir(b.repo)
	ran = filepath.Join(top, "ran")
	run := "echo $0 >>'" + ran + "'; false #"
	hooks := filepath.Join(top, "evil hooks")
	for _, dir := range []string{hooks, filepath.Join(b.repo, ".git", "hooks")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
		for _, name := range []string{"pre-push", "reference-transaction", "pre-auto-gc", "post-checkout", "post-merge", "pre-merge-commit", "commit-msg"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+name+" >>'"+ran+"'\nexit 1\n"), 0o755); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	set := [][2]string{
		{"core.sshCommand", run},
		{"core.gitProxy", run},
		{"core.askPass", run},
		{"core.hooksPath", hooks},
		{"core.fsmonitor", run},
		{"core.alternateRefsCommand", run},
		{"credential.helper", "!" + run},
		{"remote.pushDefault", evil},
		{"push.default", "matching"},
		{"branch.main.pushRemote", evil},
		{"push.followTags", "true"},
		{"push.gpgSign", "true"},
		{"gpg.program", run},
		{"protocol.ext.allow", "always"},
		{"http.followRedirects", "true"},
		{"http.sslVerify", "false"},
		{"push.pushOption", "evil"},
		{"fetch.recurseSubmodules", "true"},
		{"push.recurseSubmodules", "on-demand"},
		{"transfer.fsckObjects", "false"},
	}
	for _, r := range real {
		set = append(set, [][2]string{{"url." + evil + ".insteadOf", r}, {"url." + evil + ".pushInsteadOf", r}, {"remote." + r + ".url", evil}, {"remote." + r + ".proxy", evil}}...)
	}
	for _, kv := range set {
		b.sh(b.repo, nil, "git", "config", "--add", kv[0], kv[1])
	}
	return ran
}

// What an agent wrote into the configuration leads no exchange with a remote astray, and runs nothing.
func TestHostile_pass(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	top := filepath.Dir(p.repo)
	evil := filepath.Join(top, "evil.git")
	p.sh(top, nil, "git", "init", "-q", "--bare", evil)
	global := filepath.Join(top, "global")
	for _, who := range []*bench{p.bench, p.other} { // the person's own short name of the remote is followed, and what it stands for is not led on
		p.sh(top, nil, "git", "config", "--file", global, "url."+p.bare+".insteadOf", "ours:")
		p.sh(who.repo, nil, "git", "remote", "set-url", "origin", "ours:")
		who.g.env = append(slices.DeleteFunc(who.g.env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") }), "GIT_CONFIG_GLOBAL="+global)
	}
	for _, who := range []*bench{p.bench, p.other} { // before any agent runs, as a coordinator does
		if _, err := who.g.Passed(t.Context(), who.repo); err != nil {
			t.Fatal(err)
		}
	}
	w := p.space("T-2026-001")
	w, _ = p.turn(w, "turn-1", map[string]string{"a.txt": "1\n"})
	ran := infest(p.bench, evil, p.bare)
	ranThere := infest(p.other, evil, p.bare)
	p.pass(w, 3)
	if got := p.there(w.TaskID); len(got) == 0 {
		t.Errorf("nothing was passed on to the remote")
	}
	p.take(w)
	if p.other.rev(w.Branch) != w.Commit {
		t.Errorf("the second machine has %s", p.other.rev(w.Branch))
	}
	if refs := p.sh(evil, nil, "git", "for-each-ref"); strings.TrimSpace(refs) != "" {
		t.Errorf("somebody else got %s", refs)
	}
	if exists(ran) || exists(ranThere) {
		t.Errorf("a program of the configuration ran: %v %v", exists(ran), exists(ranThere))
	}
}

// An address that was changed is not followed, and says so.
func TestHostile_address(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"url": "remote.origin.url", "push": "remote.origin.pushurl", "instead": "url.EVIL.insteadOf", "push instead": "url.EVIL.pushInsteadOf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			if _, err := p.g.Passed(t.Context(), p.repo); err != nil {
				t.Fatal(err)
			}
			w := p.space("T-2026-001")
			w, _ = p.turn(w, "turn-1", map[string]string{"a.txt": "1\n"})
			evil := filepath.Join(filepath.Dir(p.repo), "evil.git")
			p.sh(p.repo, nil, "git", "init", "-q", "--bare", evil)
			value := evil
			if strings.HasPrefix(key, "url.") {
				key, value = strings.Replace(key, "EVIL", evil, 1), p.bare
			}
			p.sh(p.repo, nil, "git", "config", key, value)
			if err := p.g.Pass(t.Context(), w, 1); err == nil || !strings.Contains(err.Error(), "leads elsewhere") {
				t.Errorf("it was followed: %v", err)
			}
			if refs := p.sh(evil, nil, "git", "for-each-ref"); strings.TrimSpace(refs) != "" {
				t.Errorf("somebody else got %s", refs)
			}
		})
	}
}

// A remote over HTTP gets no proxy and no helper of the repository's configuration between.
func TestHostile_http(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hub, evil := listen(t), listen(t)
	b.sh(b.repo, nil, "git", "remote", "add", "origin", hub.URL+"/tea/till.git")
	g, err := New(Options{Home: b.g.home, Remote: "origin"})
	if err != nil {
		t.Fatal(err)
	}
	b.g = g
	if _, err := g.Passed(t.Context(), b.repo); err != nil {
		t.Fatal(err)
	}
	w := b.space("T-2026-001")
	w, _ = b.turn(w, "turn-1", map[string]string{"a.txt": "1\n"})
	ran := infest(b, evil.URL+"/")
	for _, key := range []string{"http.proxy", "remote.origin.proxy"} {
		b.sh(b.repo, nil, "git", "config", key, evil.URL)
	}
	if err := g.Pass(t.Context(), w, 1); err == nil {
		t.Error("it was passed on to a server that has nothing")
	}
	if len(evil.all()) > 0 || len(hub.all()) == 0 || exists(ran) {
		t.Errorf("somebody else heard %q, the remote %q, a program ran: %v", evil.all(), hub.all(), exists(ran))
	}
}

// A push for a pull request goes to its address with the token, and to nobody else, whatever the repository says.
func TestHostile_publish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hub, evil := listen(t), listen(t)
	w := b.space("T-2026-001")
	w, _ = b.turn(w, "turn-1", map[string]string{"a.txt": "1\n"})
	ran := infest(b, evil.URL+"/", hub.URL+"/", hub.URL+"/tea/till.git")
	for _, key := range []string{"http.proxy", "http." + hub.URL + "/.proxy", "https.proxy"} {
		b.sh(b.repo, nil, "git", "config", key, evil.URL)
	}
	err := b.g.Publish(t.Context(), w, hub.URL+"/tea/till.git", "ghp-of-the-test")
	if err == nil || strings.Contains(err.Error(), "ghp-of-the-test") {
		t.Errorf("error %v", err)
	}
	if got := evil.all(); len(got) > 0 {
		t.Errorf("somebody else heard %q", got)
	}
	if got := hub.all(); len(got) == 0 || !strings.Contains(got[0], "Basic ") {
		t.Errorf("the address heard %q", got)
	}
	if c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); c.Blocked() {
		t.Errorf("check = %+v", c)
	}
	if exists(ran) {
		t.Errorf("a program of the configuration ran: %s", b.read(filepath.Dir(ran), "ran"))
	}
	bare := filepath.Join(filepath.Dir(b.repo), "hub.git")
	b.sh(b.repo, nil, "git", "init", "-q", "--bare", bare)
	if err := b.g.Publish(t.Context(), w, bare, ""); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(b.sh(bare, nil, "git", "for-each-ref", "--format=%(refname) %(objectname)")); got != "refs/heads/"+w.Branch+" "+w.Commit {
		t.Errorf("there is %s", got)
	}
}

// A remote from which git is to fetch what it misses, by a program of the agent's, is found before git misses anything.
func TestHostile_promisor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	ran := filepath.Join(filepath.Dir(b.repo), "ran")
	for key, value := range map[string]string{"promisor": "true", "url": b.repo, "uploadpack": "touch '" + ran + "'; false"} {
		b.sh(b.repo, nil, "git", "config", "remote.evil."+key, value)
	}
	b.write(p.Dir, "x.go", "x\n")
	c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete, CommitHash: strings.Repeat("ab", 20)})
	if exists(ran) || !c.Blocked() || c.Escalate != amp.PermissionDenied {
		t.Errorf("the program ran: %v; %+v", exists(ran), c)
	}
}
