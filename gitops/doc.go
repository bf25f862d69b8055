// Package gitops does all git work of Arbiter: it guards protected branches, gives each task a worktree and each review a
// disposable one, sets checkpoints, compares what an agent claims with what git says, and delivers an approved branch.
//
// Nothing here decides: each method measures or carries out one thing and returns what it found as an [amp.Check]. A person's
// files, branches and checkouts are never touched, with one exception that has a command behind it: [Git.Deliver] merges into
// the base branch and [Git.Rollback] puts back a protected branch that an agent moved.
//
// Everything is safe to repeat after a crash: what a method has to remember is a ref below refs/arbiter or a file below
// [Options].Home, written before it takes effect. Work that no branch holds is pinned to a ref below refs/arbiter/recovery
// before anything is reset or removed.
//
// The program git is run with a fixed environment, without hooks, and never through a worktree's .git file, since an agent could
// have written that; go-git reads refs and commits where a process would cost more than the answer.
package gitops
