package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// around is the environment of an agent that takes the hooks away, and keeps its identity.
func around(p amp.Prepared) []string {
	var env []string
	for _, kv := range p.Env {
		if !strings.HasPrefix(kv, "GIT_CONFIG_") {
			env = append(env, kv)
		}
	}
	return env
}

// TestVerify_AMP_049_AMP_168 has every way in which a turn can go for another branch, through the hooks and around them: each is raised,
// and what the hooks see is refused at once.
func TestVerify_AMP_049_AMP_168(t *testing.T) {
	t.Parallel()
	const work = "echo x >x.txt && git add x.txt && git commit -qm work && "
	for name, tc := range map[string]struct {
		script string
		// around runs it without the hooks, as somebody else with another identity.
		around, disguised bool
		want              amp.EscalationType
		// moved says that main is elsewhere afterwards.
		moved bool
	}{
		"update-ref main":                   {script: work + "git update-ref refs/heads/main HEAD", want: amp.BranchViolation},
		"update-ref main, around":           {script: work + "git update-ref refs/heads/main HEAD", around: true, want: amp.BranchViolation, moved: true},
		"update-ref main, disguised":        {script: work + "git update-ref refs/heads/main HEAD", disguised: true, want: amp.BranchViolation, moved: true},
		"no-op update of main":              {script: "git update-ref refs/heads/main refs/heads/main", want: ""},
		"checkout -B main":                  {script: "git checkout -q -B main", want: amp.BranchViolation},
		"checkout --ignore-other main":      {script: "git checkout -q --ignore-other-worktrees main", want: amp.BranchViolation},
		"commit on main, around":            {script: "git checkout -q --ignore-other-worktrees main && echo x >x.txt && git add . && git commit -qm x", around: true, want: amp.BranchViolation, moved: true},
		"commit in the person's checkout":   {script: "cd \"$REPO\" && git commit -q --allow-empty -m x", want: amp.BranchViolation},
		"same, around":                      {script: "cd \"$REPO\" && git commit -q --allow-empty -m x", around: true, want: amp.BranchViolation, moved: true},
		"moved and put back, around":        {script: work + "old=$(git rev-parse main) && git update-ref refs/heads/main HEAD && git update-ref refs/heads/main $old", around: true, want: amp.BranchViolation},
		"new master":                        {script: work + "git branch master HEAD", want: amp.BranchViolation},
		"new branch":                        {script: "git branch helper", want: amp.PermissionDenied},
		"new branch, around":                {script: "git branch helper", around: true, want: amp.PermissionDenied},
		"new branch, disguised":             {script: work + "git branch helper", disguised: true, want: amp.PermissionDenied},
		"tag":                               {script: "git tag v1", want: amp.PermissionDenied},
		"tag with the work, disguised":      {script: work + "git tag v1", disguised: true, want: amp.PermissionDenied},
		"stash":                             {script: "echo y >main.go && git stash", want: ""},
		"stash, around":                     {script: "echo y >main.go && git stash", around: true, want: amp.PermissionDenied},
		"own checkpoint, disguised":         {script: work + "git update-ref refs/arbiter/checkpoints/T-2026-001/1 HEAD", disguised: true, want: amp.PermissionDenied},
		"delete another branch":             {script: "git branch -D other", want: amp.PermissionDenied},
		"delete another branch, disguised":  {script: "git branch -D other", disguised: true, want: amp.PermissionDenied},
		"delete a merged branch, disguised": {script: "git branch -D merged", disguised: true, want: ""},
		"push the branch":                   {script: work + "git push -q origin HEAD", want: amp.PermissionDenied},
		"push main":                         {script: work + "git push -q origin HEAD:main", want: amp.BranchViolation},
		"push main, no-verify":              {script: work + "git push -q --no-verify origin HEAD:main", want: amp.BranchViolation},
		"push main, around":                 {script: work + "git push -q origin HEAD:main", around: true, want: amp.BranchViolation},
		"push by path":                      {script: work + "git push -q ../../../remote.git HEAD:x", want: amp.PermissionDenied},
		"push into the repository":          {script: "git clone -q \"$REPO\" $TMPDIR/c && cd $TMPDIR/c && git commit -q --allow-empty -m x && git push -q origin HEAD:refs/heads/planted", want: amp.PermissionDenied},
		"fetch":                             {script: "git fetch -q origin", want: ""},
		"attempts removed":                  {script: "rm ../../hooks/*.attempts", want: amp.PermissionDenied},
		"work in a repository of its own":   {script: "git init -q -b main $TMPDIR/own && cd $TMPDIR/own && git commit -q --allow-empty -m x && git checkout -q -b y && git tag z && git clone -q . ../two && cd ../two && git commit -q --allow-empty -m z && git push -q origin HEAD:other", want: ""},
		"rebase, bisect, detach":            {script: work + "git bisect start && git bisect bad && git bisect good HEAD~1 && git bisect reset && git rebase -q --force-rebase HEAD~1 && git checkout -q --detach && git checkout -q -", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			top := filepath.Dir(b.repo)
			b.sh(top, nil, "git", "init", "-q", "--bare", "remote.git")
			b.sh(b.repo, nil, "git", "remote", "add", "origin", filepath.Join(top, "remote.git"))
			b.sh(b.repo, nil, "git", "branch", "merged")
			b.sh(b.repo, person, "git", "checkout", "-q", "-b", "other")
			b.sh(b.repo, person, "git", "commit", "-q", "--allow-empty", "-m", "other")
			b.sh(b.repo, person, "git", "checkout", "-q", "main")
			b.sh(b.repo, nil, "git", "push", "-q", "origin", "main")
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			env := p.Env
			if tc.around {
				env = around(p)
			}
			if tc.disguised {
				env = person
			}
			tmp := filepath.Join(top, "tmp")
			if err := os.Mkdir(tmp, 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := b.try(p.Dir, append(env, "REPO="+b.repo, "TMPDIR="+tmp), "sh", "-c", tc.script)
			refused := strings.Contains(out, "arbiter: refused")
			if tc.want == "" && err != nil && !refused {
				t.Errorf("an honest command failed: %v\n%s", err, out)
			}
			if !tc.around && !tc.disguised && tc.want != "" && !refused && name != "push into the repository" && name != "attempts removed" {
				t.Errorf("the hooks refused nothing:\n%s", out)
			}
			c := b.verify(w, "turn-1", &amp.Result{})
			if c.Escalate != tc.want {
				t.Errorf("escalates %q, want %q\nrefs: %s\nscript: %s", c.Escalate, tc.want, found(c, "refs"), out)
			}
			if (finding(c, "refs") == amp.Refuted) != (tc.want != "") {
				t.Errorf("refs: %s %s", finding(c, "refs"), found(c, "refs"))
			}
			if moved := b.rev("main") != b.base; moved != tc.moved {
				t.Errorf("main moved = %v, want %v", moved, tc.moved)
			}
			again := b.verify(w, "turn-1", nil)
			if again.Escalate != tc.want {
				t.Errorf("a second call escalates %q, want %q: %s", again.Escalate, tc.want, found(again, "refs"))
			}
		})
	}
}

// TestVerify_person: what people do in the repository during a turn is noted, with who did it, and blamed on nobody (AMP-049).
func TestVerify_person(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		want   amp.Finding
		says   string
	}{
		"commit on main":          {"git commit -q --allow-empty -m x", amp.Inconclusive, "refs/heads/main moved"},
		"pull":                    {"git pull -q --ff-only origin main", amp.Inconclusive, "Ada <ada@example.org>"},
		"branch and switch":       {"git switch -q -c idea && git commit -q --allow-empty -m x && git switch -q main", amp.Inconclusive, "refs/heads/idea"},
		"tag":                     {"git tag v1", amp.Inconclusive, "refs/tags/v1"},
		"annotated tag":           {"git tag -a -m x v1", amp.Inconclusive, "refs/tags/v1"},
		"stash":                   {"echo x >>main.go && git stash -q", amp.Inconclusive, "refs/stash"},
		"delete a merged branch":  {"git branch -q -d merged", amp.Inconclusive, "refs/heads/merged was deleted"},
		"reset main back":         {"git reset -q --hard HEAD~1", amp.Inconclusive, "refs/heads/main moved"},
		"gc and expire":           {"git commit -q --allow-empty -m x && git reflog expire --expire=now --all --expire-unreachable=now && git pack-refs --all && git gc -q", amp.Refuted, "no record"},
		"pack refs":               {"git pack-refs --all && git gc -q", amp.Confirmed, ""},
		"fetch --prune":           {"git fetch -q --prune origin", amp.Inconclusive, "refs/remotes/origin/old"},
		"files only":              {"echo x >>main.go", amp.Confirmed, ""},
		"new worktree and commit": {"git worktree add -q ../side -b side && cd ../side && git commit -q --allow-empty -m x", amp.Inconclusive, "refs/heads/side"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			top := filepath.Dir(b.repo)
			b.write(b.repo, "two.txt", "x\n")
			b.base = b.commit(b.repo, person, "second")
			b.sh(top, nil, "git", "clone", "-q", "--bare", b.repo, "remote.git")
			remote := filepath.Join(top, "remote.git")
			b.sh(b.repo, person, "git", "remote", "add", "origin", remote)
			b.sh(remote, person, "git", "branch", "old")
			b.sh(b.repo, person, "git", "fetch", "-q", "origin")
			b.sh(remote, nil, "git", "branch", "-D", "old")
			b.sh(remote, person, "git", "update-ref", "refs/heads/main", b.sh(remote, person, "git", "commit-tree", "-p", "main", "-m", "x", "main^{tree}"))
			b.sh(b.repo, nil, "git", "branch", "merged")
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "x.txt", "x\n")
			b.sh(b.repo, person, "sh", "-c", tc.script)
			commit := b.commit(p.Dir, p.Env, "work")
			c := b.verify(w, "turn-1", b.honest(p, commit))
			if finding(c, "refs") != tc.want || !strings.Contains(found(c, "refs"), tc.says) {
				t.Errorf("refs: %s %q, want %s %q", finding(c, "refs"), found(c, "refs"), tc.want, tc.says)
			}
			if (c.Escalate != "") != (tc.want == amp.Refuted) {
				t.Errorf("escalates %q", c.Escalate)
			}
		})
	}
}

// TestVerify_tasks: several tasks in one repository do not blame each other, while one that goes for another's branch is seen.
func TestVerify_tasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two, three := b.space("T-2026-001"), b.space("T-2026-002"), b.space("T-2026-003")
	p1, p2, p3 := b.prepare(one, "turn-1"), b.prepare(two, "turn-2"), b.prepare(three, "turn-3")
	for _, p := range []amp.Prepared{p1, p2, p3} {
		b.write(p.Dir, "x.txt", "x\n")
		b.commit(p.Dir, p.Env, "work")
	}
	b.sh(p3.Dir, around(p3), "git", "update-ref", "refs/heads/"+two.Branch, "HEAD")
	c1, c3 := b.verify(one, "turn-1", &amp.Result{}), b.verify(three, "turn-3", &amp.Result{})
	if c1.Escalate != "" || finding(c1, "refs") != amp.Confirmed {
		t.Errorf("task 1: %s %s %s", c1.Escalate, finding(c1, "refs"), found(c1, "refs"))
	}
	if c3.Escalate != amp.PermissionDenied || !strings.Contains(found(c3, "refs"), two.Branch) {
		t.Errorf("task 3: %s %s", c3.Escalate, found(c3, "refs"))
	}
	_, c := b.turn(one, "turn-4", map[string]string{"y.txt": "y\n"})
	if finding(c, "refs") != amp.Confirmed {
		t.Errorf("next turn of task 1: %s", found(c, "refs"))
	}
}

// TestVerify_parallel runs ten tasks at once.
func TestVerify_parallel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 10 {
		id := string(rune('0' + i))
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			mine := &bench{t: t, g: b.g, repo: b.repo, base: b.base}
			w := mine.space("T-2026-00" + id)
			for round := range 3 {
				turn := "turn-" + id + "-" + string(rune('0'+round))
				var c amp.Check
				w, c = mine.turn(w, turn, map[string]string{"file" + id: turn + "\n"})
				if finding(c, "refs") != amp.Confirmed {
					t.Errorf("%s: %s", turn, found(c, "refs"))
				}
			}
		})
	}
}

// TestVerify_tampering: what an agent rewrites of the worktree's links, of hooks and of configuration is seen before any git obeys it.
func TestVerify_tampering(t *testing.T) {
	t.Parallel()
	const evil = "mkdir -p $TMPDIR/evil/.git && cp -r \"$REPO\"/.git/. $TMPDIR/evil/.git/ && "
	for name, tc := range map[string]struct {
		script, claim string
	}{
		".git points elsewhere": {evil + "echo gitdir: $TMPDIR/evil/.git >.git", "worktree"},
		".git is a folder":      {"rm .git && " + evil + "mv $TMPDIR/evil/.git .git", "worktree"},
		".git is a link":        {evil + "ln -sf $TMPDIR/evil/.git .git", "worktree"},
		".git is gone":          {"rm .git", "worktree"},
		"HEAD is broken":        {"echo nonsense >\"$REPO\"/.git/worktrees/T-2026-001/HEAD", "worktree"},
		"commondir":             {evil + "echo $TMPDIR/evil/.git >\"$REPO\"/.git/worktrees/T-2026-001/commondir", "worktree"},
		"the repository's own":  {evil + "echo $TMPDIR/evil/.git >\"$REPO\"/.git/commondir", "config"},
		"a clean filter":        {"git config filter.x.clean \"touch $TMPDIR/ran; cat\" && echo '* filter=x' >.gitattributes", "config"},
		"an include":            {"git config include.path $TMPDIR/more", "config"},
		"a hook":                {"printf '#!/bin/sh\\n' >\"$REPO\"/.git/hooks/pre-commit && chmod +x \"$REPO\"/.git/hooks/pre-commit", "config"},
		"hooksPath":             {"git config core.hooksPath $TMPDIR", "config"},
		"fsmonitor":             {"git config core.fsmonitor \"touch $TMPDIR/ran\"", "config"},
		"an alias":              {"git config alias.st '!touch $TMPDIR/ran'", "config"},
		"broken config":         {"echo '[[[' >>\"$REPO\"/.git/config", "config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tmp := filepath.Join(filepath.Dir(b.repo), "tmp")
			if err := os.Mkdir(tmp, 0o755); err != nil {
				t.Fatal(err)
			}
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "main.go", "package main\n")
			b.sh(p.Dir, append(around(p), "REPO="+b.repo, "TMPDIR="+tmp), "sh", "-c", tc.script)
			for _, result := range []*amp.Result{{}, nil} {
				c := b.verify(w, "turn-1", result)
				if c.Escalate != amp.PermissionDenied || finding(c, tc.claim) != amp.Refuted || !c.Blocked() {
					t.Errorf("check = %+v", c)
				}
			}
			if _, err := os.Stat(filepath.Join(tmp, "ran")); err == nil {
				t.Error("our git ran a program of the agent")
			}
			if tc.claim != "worktree" {
				return
			}
			p = b.prepare(w, "turn-2") // what ties the worktree to its repository is mended
			if got := b.sh(p.Dir, nil, "git", "rev-parse", "--path-format=absolute", "--git-common-dir"); got != filepath.Join(b.repo, ".git") {
				t.Errorf("worktree belongs to %s", got)
			}
			b.wantRecovered(w.TaskID, "main.go")
		})
	}
}

// TestVerify_harmlessConfig: what people set in a repository while agents work is no violation.
func TestVerify_harmlessConfig(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.sh(b.repo, nil, "sh", "-c", "git config user.name Ada && git config branch.main.remote origin && git remote add fork /x && git config pull.rebase true")
	b.write(p.Dir, "x", "x\n")
	c := b.verify(w, "turn-1", b.honest(p, b.commit(p.Dir, p.Env, "x")))
	if c.Escalate != "" || c.Blocked() {
		t.Errorf("check = %+v", c)
	}
}
