package github_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/ssot/github"
	"arbiter/ssot/github/githubtest"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

func (w *world) commit(message string, files map[string][]byte) string {
	w.t.Helper()
	sha, err := w.repo.Commit("main", message, files)
	if err != nil {
		w.t.Fatal(err)
	}
	return sha
}

// Commits of others that leave the mirror's files alone are built upon, whenever they come.
func TestMirror_rivalCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.commit("before", map[string][]byte{"README.md": []byte("ours\n"), "docs/a.md": []byte("a\n")})
		w.grow(2)
		m := w.mirror()
		w.push(m)
		for i, when := range []string{"/git/trees", "/git/commits", "/git/refs"} {
			w.grow(2)
			came := false
			w.hub.Break(func(r *http.Request) *githubtest.Fault {
				if !came && r.Method != http.MethodGet && strings.Contains(r.URL.Path, when) {
					came = true
					w.commit("rival", map[string][]byte{"docs/b.md": {byte('0' + i)}, "docs/a.md": []byte(when)})
				}
				return nil
			})
			w.push(m)
			if !came {
				t.Errorf("nobody came before %s", when)
			}
			if n := len(w.hub.Requests()); n > 60 {
				t.Errorf("%d requests", n)
			}
		}
		w.compare()
		for name, want := range map[string]string{"README.md": "ours\n", "docs/a.md": "/git/refs", "docs/b.md": "2"} {
			if got, err := w.repo.File("main", name); err != nil || string(got) != want {
				t.Errorf("%s of the others is %q (%v)", name, got, err)
			}
		}
		if all, err := w.repo.Log("main"); err != nil || len(all) != 1+1+3+3 {
			t.Errorf("there are %d commits (%v)", len(all), err)
		}
	})
}

// Two machines that mirror one journal get along.
func TestMirror_twoOfOneJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		other := *w
		other.cfg.Dir = t.TempDir()
		a, b := w.mirror(), other.mirror()
		for i := range 6 {
			w.grow(3)
			w.task(i + 1)
			first, second := a, b
			if i%2 == 1 {
				first, second = b, a
			}
			w.push(first)
			time.Sleep(time.Hour)
			w.grow(1)
			w.push(second)
		}
		w.compare()
	})
}

// What others do to the mirror's files stops it, with words and a way out.
func TestMirror_changedByOthers(t *testing.T) {
	t.Parallel()
	const segment = "entries/000000/000/000000000003.jsonl"
	for name, tc := range map[string]struct {
		change func(w *world, old string)
		want   string
		// proof is what the comparison of a clone says.
		proof string
	}{
		"a segment": {
			func(w *world, _ string) { w.commit("x", map[string][]byte{segment: []byte("{}\n")}) },
			"somebody changed files of the mirror: entries", "entry 3: ",
		},
		"a segment and the head": {
			func(w *world, _ string) {
				head, err := w.repo.File("main", "head.json")
				if err != nil {
					w.t.Fatal(err)
				}
				w.commit("x", map[string][]byte{segment: []byte("{}\n"), "head.json": append(head, ' ')})
			},
			"somebody changed " + segment, "entry 3: ",
		},
		"a file that was added": {
			func(w *world, _ string) {
				w.commit("x", map[string][]byte{"entries/000000/000/000000000009.jsonl": []byte("{}\n")})
			},
			"somebody changed files of the mirror: entries", "entry 7: the mirror misses entries 7 to 8",
		},
		"a segment that was removed": {
			func(w *world, _ string) { w.commit("x", map[string][]byte{segment: nil}) },
			"somebody changed files of the mirror: entries", "entry 3: the mirror misses entries 3 to 4",
		},
		"a task": {
			func(w *world, _ string) {
				w.commit("x", map[string][]byte{"tasks/2026/000/T-2026-001.json": []byte("{}\n")})
			},
			"somebody changed files of the mirror: tasks", "the file of task T-2026-001 is not the state that its entries give",
		},
		"everything removed": {
			func(w *world, _ string) {
				w.commit("x", map[string][]byte{"entries": nil, "tasks": nil, "head.json": nil, "a": []byte("b")})
			},
			"somebody removed the files of the mirror", "no mirror of a journal is there",
		},
		"the head alone removed": {
			func(w *world, _ string) { w.commit("x", map[string][]byte{"head.json": nil}) },
			"files of a mirror without head.json", "no mirror of a journal is there",
		},
		"the head is nonsense": {
			func(w *world, _ string) { w.commit("x", map[string][]byte{"head.json": []byte("{")}) },
			"somebody changed the mirror: head.json cannot be read", "head.json cannot be read",
		},
		"a forced push back": {
			func(w *world, old string) {
				if err := w.repo.SetHead("main", old); err != nil {
					w.t.Fatal(err)
				}
			},
			"somebody set the mirror back from entry 6 to 2", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.grow(2)
				m := w.mirror()
				w.push(m)
				old := w.repo.Head("main")
				w.grow(2)
				w.push(m)
				w.task(1)
				w.push(m)
				tc.change(w, old)
				w.grow(1)
				err := m.Push(t.Context())
				s := m.State()
				if _, ok := errors.AsType[*github.DivergedError](err); !ok || !s.Stopped || !strings.Contains(s.Trouble, tc.want) || !strings.Contains(s.Next, "--rebuild") {
					t.Fatalf("it says %v; trouble %q, next %q, stopped %v", err, s.Trouble, s.Next, s.Stopped)
				}
				w.proof(tc.proof)
				if err := w.mirror().Push(t.Context()); err == nil {
					t.Error("after a new start it goes on, as if nothing had happened")
				}
				m = w.mirror()
				m.Rebuild()
				w.push(m)
				w.grow(1)
				w.push(w.mirror())
				w.compare()
			})
		})
	}
}

// proof wants a comparison of the branch as it is to find a difference, or its absence with an empty text.
func (w *world) proof(want string) {
	w.t.Helper()
	c := w.open(w.repo.Dir)
	r, err := github.Compare(w.t.Context(), w.log, c, github.Checks{})
	got := ""
	if err != nil {
		got = err.Error()
	} else if r.Difference != nil {
		got = r.Difference.Error()
	}
	if want == "" && got != "" || !strings.Contains(got, want) {
		w.t.Errorf("the comparison says %q, want %q", got, want)
	}
}

func TestMirror_deletedBranch(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(w *world) error{
		"branch":  func(w *world) error { return w.repo.Delete("main") },
		"emptied": func(w *world) error { return w.repo.Empty() },
		"made anew": func(w *world) error {
			return errors.Join(w.repo.Empty(), second(w.repo.Commit("main", "a", map[string][]byte{"README.md": nil, "b": {'c'}})))
		},
		"other head": func(w *world) error { w.repo.Default = "trunk"; return w.repo.Empty() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.task(1)
				w.grow(3)
				w.run(func(m *github.Mirror) {
					later(time.Minute)
					w.whole(m)
					if err := f(w); err != nil {
						t.Fatal(err)
					}
					later(20 * time.Minute) // it is seen without a new entry
					w.whole(m)
					w.grow(1)
					later(time.Minute)
					w.whole(m)
					w.compare()
				})
			})
		})
	}
}

func second(_ string, err error) error { return err }

// A journal that lost entries, or is another one, is not mirrored over what the mirror holds.
func TestMirror_otherJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(4)
	w.push(w.mirror())
	w.log, w.next, w.cfg.Dir = memory.New(), 0, t.TempDir()
	w.cfg.Log = w.log
	m := w.mirror()
	w.append(ssottest.Submit("submit-1", ssottest.Task(1)))
	if err := m.Push(t.Context()); err == nil || !strings.Contains(m.State().Trouble, "the journal here ends at 1") {
		t.Errorf("a journal that is shorter: %v", err)
	}
	w.grow(5)
	if err := m.Push(t.Context()); err == nil || !strings.Contains(m.State().Trouble, "the mirror holds another journal") {
		t.Errorf("another journal: %v", err)
	}
	w.proof("entry 1: the journal here has command by ada")
}

// Two processes of one data directory do not write at once.
func TestMirror_oneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(1)
		var inside []error
		w.hub.Break(func(*http.Request) *githubtest.Fault {
			if inside == nil {
				inside = []error{nil}
				inside[0] = w.mirror().Push(t.Context())
			}
			return nil
		})
		w.push(w.mirror())
		if !errors.Is(inside[0], github.ErrElsewhere) {
			t.Errorf("the second one got %v", inside[0])
		}
	})
}

// For a moment GitHub may show the branch as it was before: nobody is accused, and nothing is written twice.
func TestMirror_staleAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.grow(2)
		m := w.mirror()
		w.push(m)
		before := w.repo.Head("main")
		w.grow(2)
		w.push(m)
		after := w.repo.Head("main")
		w.grow(2)
		looks := 0
		w.hub.Break(func(r *http.Request) *githubtest.Fault {
			if strings.Contains(r.URL.Path, "/git/ref/") {
				looks++
				sha := after
				if looks < 3 {
					sha = before
				}
				if err := w.repo.SetHead("main", sha); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		w.push(m)
		w.hub.Break(nil)
		if looks < 3 {
			t.Errorf("it looked %d times", looks)
		}
		w.compare()
		if all, err := w.repo.Log("main"); err != nil || len(all) != 4 {
			t.Errorf("there are %d commits (%v)", len(all), err)
		}
	})
}
