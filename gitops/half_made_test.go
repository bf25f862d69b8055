package gitops

import "testing"

// What git says when another process is just making or removing a worktree is told from every other fault.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"fatal: failed to read /r/.git/worktrees/T-2026-001/commondir: Success":                                              true,
		"Preparing worktree (detached HEAD 8fe8b91)\nfatal: Invalid path '/r/.git/worktrees/T-1': No such file or directory": true,
		"fatal: Invalid path '/elsewhere/T-1': No such file or directory":                                                    false,
		"fatal: 'T-1' is already checked out at '/r/.git/worktrees/T-1'":                                                     false,
	} {
		if got := halfMade(&exitError{code: 128, stderr: text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
