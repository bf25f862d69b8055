package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arbiter/scratch"
)

// netEnv are the variables that a git which speaks to a remote inherits beside [gitEnv]: how it gets there, and who speaks for the person.
var netEnv = []string{
	"SSH_AUTH_SOCK", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
}

// netFixed keeps a git that speaks to a remote from asking a person anything, and from programs that a remote's configuration names.
var netFixed = []string{"GIT_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never"}

// netConfig bounds how long a remote may be silent, and has what it sends looked at before it is kept.
var netConfig = []string{
	"-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30", "-c", "transfer.fsckObjects=true", "-c", "push.gpgSign=false",
	"-c", "fetch.writeCommitGraph=false", "-c", "protocol.allow=never", "-c", "protocol.file.allow=always", "-c", "protocol.git.allow=always",
	"-c", "protocol.http.allow=always", "-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always",
}

// sshFixed is appended to the ssh command: it asks for no password, and gives up where nobody answers.
const sshFixed = " -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=3"

// networkEnv is what a git that speaks to a remote has in its environment beside [gitEnv].
func networkEnv(env []string) []string {
	ssh := "ssh"
	for _, kv := range keepEnv(env, []string{"GIT_SSH_COMMAND"}) {
		if _, own, _ := strings.Cut(kv, "="); own != "" {
			ssh = own
		}
	}
	return append(keepEnv(env, netEnv), "GIT_SSH_COMMAND="+ssh+sshFixed)
}

// netTimeout bounds one exchange with a remote.
const netTimeout = 5 * time.Minute

// push sets refs at a remote's address from here, one refspec each, from commits to refs.
func (r *repo) push(ctx context.Context, url string, specs ...string) error {
	return r.exchange(ctx, append([]string{
		"push", "--quiet", "--no-verify", "--no-follow-tags", "--no-recurse-submodules", "--receive-pack=git-receive-pack", "--", url,
	}, specs...), nil)
}

// maxRemoved is how many refs one push removes: they stand in its command line.
const maxRemoved = 100

// remove removes refs at a remote's address that are where they were seen.
func (r *repo) remove(ctx context.Context, url string, refs map[string]string) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(refs)), maxRemoved) {
		args := []string{"push", "--quiet", "--no-verify", "--no-recurse-submodules", "--receive-pack=git-receive-pack"}
		for _, ref := range some {
			args = append(args, "--force-with-lease="+ref+":"+refs[ref])
		}
		args = append(args, "--", url)
		for _, ref := range some {
			args = append(args, ":"+ref)
		}
		if err := r.exchange(ctx, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// maxListed is how much a remote may say about its refs.
const maxListed = 64 << 20

// list are the refs at a remote's address that match a pattern.
func (r *repo) list(ctx context.Context, url, pattern string) (map[string]string, error) {
	refs := map[string]string{}
	err := r.exchange(ctx, []string{"ls-remote", "--quiet", "--refs", "--upload-pack=git-upload-pack", "--", url, pattern}, func(_ call, out string) error {
		for line := range strings.Lines(out) {
			if commit, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
				refs[ref] = commit
			}
		}
		return nil
	})
	return refs, err
}

// fetch sets the refs below a prefix here to those below another one at a remote's address.
func (r *repo) fetch(ctx context.Context, url, from, to string) error {
	return r.exchange(ctx, []string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--refmap=",
		"--upload-pack=git-upload-pack", "--", url, "+" + from + "*:" + to + "*",
	}, func(c call, _ string) error { return r.bring(ctx, c, to) })
}

// bring sets the refs below a prefix here to what they are where c is.
func (r *repo) bring(ctx context.Context, c call, prefix string) error {
	out, err := r.g.run(ctx, c, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return err
	}
	here, err := r.refs(ctx, prefix)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if here[ref] == commit {
			continue
		}
		if err := r.setRef(ctx, ref, commit, here[ref], "received"); err != nil {
			return err
		}
	}
	return nil
}

// exchange runs a git that speaks to a remote, from a repository apart, so that the configuration of this one, which an agent may have
// written, has no say. done, if not nil, is called with that repository and what git printed. An error carries no password of its address.
func (r *repo) exchange(ctx context.Context, args []string, done func(c call, out string) error) error {
	ctx, cancel := context.WithTimeout(ctx, netTimeout)
	defer cancel()
	c, end, err := r.apart(ctx)
	if err != nil {
		return err
	}
	defer end()
	c.max = maxListed
	out, err := r.g.run(ctx, c, append(append([]string{}, netConfig...), args...)...)
	if e, ok := errors.AsType[*exitError](err); ok {
		e.stderr = urlPassword.ReplaceAllString(e.stderr, "://")
	}
	if c.max = 0; err == nil && done != nil {
		err = done(c, out)
	}
	return err
}

// apart is a repository with the objects and the branches of this one, and none of its configuration and hooks. end removes it.
func (r *repo) apart(ctx context.Context) (c call, end func(), err error) {
	format, err := r.git(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return c, nil, err
	}
	heads, err := r.refs(ctx, "refs/heads/", "refs/remotes/")
	if err != nil {
		return c, nil, err
	}
	dir, remove, err := scratch.Make(r.g.home, "apart")
	if err != nil {
		return c, nil, fmt.Errorf("prepare an exchange with a remote: %w", err)
	}
	end = func() { _ = remove() } // it holds nothing of its own
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if format = strings.TrimSpace(format); format != "sha1" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = " + format + "\n"
	}
	var packed strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(heads)) { // by them both sides find out what need not be sent
		packed.WriteString(heads[ref] + " " + ref + "\n")
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config, "packed-refs": packed.String()}
	if shallow, err := os.ReadFile(filepath.Join(r.common, "shallow")); err == nil {
		files["shallow"] = string(shallow)
	}
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"refs", "objects"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	if err != nil {
		end()
		return c, nil, fmt.Errorf("prepare an exchange with a remote: %w", err)
	}
	return call{gitDir: dir, write: true, net: true, env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects")}}, end, nil
}
