package github_test

import (
	"testing"
	"testing/synctest"
	"time"

	"arbiter/ssot/github"
)

// Whoever has a mirror is told when everybody may read it, at a start and within hours, and no longer when that is over.
func TestMirror_public(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(2)
		w.run(func(m *github.Mirror) {
			later(time.Minute)
			if w.whole(m); m.State().Public {
				t.Error("a private repository is said to be public")
			}
			w.repo.SetPublic(true)
			later(3 * time.Hour)
			if w.whole(m); !m.State().Public {
				t.Error("nothing is said of a repository that was made public")
			}
			w.grow(1)
			later(time.Minute)
			w.whole(m) // it is told, and goes on
		})
		w.run(func(m *github.Mirror) {
			if !m.State().Public {
				t.Error("after a start it is forgotten")
			}
			w.repo.SetPublic(false)
			later(3 * time.Hour)
			if m.State().Public {
				t.Error("a repository that is private again is said to be public")
			}
		})
		w.repo.SetPublic(true)
		w.run(func(m *github.Mirror) {
			later(time.Minute)
			if !m.State().Public {
				t.Error("at a start it is not looked at")
			}
		})
	})
}
