package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A remote that leads elsewhere than at its first use is not followed, also by a later process, until a person says that it is meant.
func TestRemote_noted(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p.pass(w, 1)
	evil := filepath.Join(filepath.Dir(p.repo), "evil.git")
	p.sh(p.repo, nil, "git", "init", "-q", "--bare", evil)
	p.sh(p.repo, nil, "git", "remote", "set-url", "origin", evil)
	next, _ := p.turn(w, "turn-2", map[string]string{"a.txt": "2\n"})
	p.again()
	p.g.remote = "origin"
	note := mustOpen(t, p.g, p.repo).pinFile()
	for _, err := range []error{
		p.g.Pass(t.Context(), next, 1),
		func() error { _, err := p.g.RemoteURL(t.Context(), p.repo, "origin"); return err }(),
		func() error { _, err := p.g.Left(t.Context(), []string{p.repo}, true); return err }(),
	} {
		for _, part := range []string{"leads elsewhere", evil, p.bare, note} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v, want %q", err, part)
			}
		}
	}
	if refs := p.sh(evil, nil, "git", "for-each-ref"); refs != "" {
		t.Errorf("somebody else got %s", refs)
	}
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	p.pass(next, 1)
	if refs := p.sh(evil, nil, "git", "for-each-ref"); !strings.Contains(refs, next.Commit) {
		t.Errorf("the new place has %s", refs)
	}
}

// Another password is no other place, and none is noted; what cannot be read is said, not taken for new.
func TestRemote_password(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	r := mustOpen(t, p.g, p.repo)
	for _, secret := range []string{"s3cret", "0ther"} {
		p.sh(p.repo, nil, "git", "remote", "set-url", "origin", "https://ada:"+secret+"@example.org/shop.git")
		if url, err := r.address(t.Context(), "origin", true); err != nil || !strings.Contains(url, secret) {
			t.Errorf("address %s, %v", url, err)
		}
	}
	if b, err := os.ReadFile(r.pinFile()); err != nil || strings.Contains(string(b), "s3cret") || !strings.Contains(string(b), "example.org/shop.git") {
		t.Errorf("noted is %s, %v", b, err)
	}
	if err := os.WriteFile(r.pinFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.address(t.Context(), "origin", true); err == nil || !strings.Contains(err.Error(), r.pinFile()) {
		t.Errorf("a damaged note: %v", err)
	}
}
