package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if in := os.Getenv("SCRATCH_TEST_IN"); in != "" { // a process that makes a folder and waits to be killed
		dir, _, err := Make(in, "index")
		fmt.Println(dir, err)
		_, _ = io.ReadAll(os.Stdin)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// What a killed process left is removed, at once; what living ones use, other names and what is no folder stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	for _, name := range []string{"index-left/deep/er", "try-left", "indexes", "other-1", "index"} {
		if err := os.MkdirAll(filepath.Join(in, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	for name, err := range map[string]error{
		"link": os.Symlink(outside, filepath.Join(in, "index-link")), "file": os.WriteFile(filepath.Join(in, "index-file"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	ours, remove, err := Make(in, "index")
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), "SCRATCH_TEST_IN="+in)
	wait, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer wait.Close()
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var theirs, none string
	if _, err := fmt.Fscanln(said, &theirs, &none); err != nil || none != "<nil>" {
		t.Fatal(theirs, none, err)
	}
	sweep := func(gone, there []string) {
		t.Helper()
		if err := Sweep(in, "index", "try"); err != nil {
			t.Error(err)
		}
		for _, name := range gone {
			if _, err := os.Lstat(filepath.Join(in, name)); err == nil {
				t.Errorf("%s is still there", name)
			}
		}
		for _, name := range there {
			if _, err := os.Lstat(filepath.Join(in, name)); err != nil {
				t.Error(err)
			}
		}
	}
	ours, theirs = filepath.Base(ours), filepath.Base(theirs)
	sweep([]string{"index-left", "try-left"}, []string{ours, theirs, "indexes", "other-1", "index", "index-link", "index-file"})
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	sweep([]string{theirs}, []string{ours})
	if err := remove(); err != nil {
		t.Error(err)
	}
	sweep([]string{ours}, nil)
}

// Many makers and sweepers at once: nobody loses a folder that it uses.
func TestMake_besideSweeps(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if err := Sweep(in, "try"); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				dir, remove, err := Make(in, "try")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(in); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// A draft is removed by the next one of its name once its process is dead, and not before; what somebody else has there stays.
func TestDraft(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "a [b] *") // a name that is no pattern
	for _, name := range []string{".export-other", ".export-killed", ".exporter-1"} {
		if err := os.MkdirAll(filepath.Join(in, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".export-other/notes.txt", ".export-killed/" + draftLock, ".export-killed/half", ".exporter-1/" + draftLock} {
		if err := os.WriteFile(filepath.Join(in, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (names []string) {
		t.Helper()
		all, err := os.ReadDir(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names
	}
	first, removeFirst, err := Draft(in, ".export")
	if err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := Draft(in, ".export")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".export-other", ".exporter-1", filepath.Base(first), filepath.Base(second)}
	slices.Sort(want)
	if got := there(); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := removeFirst(); err != nil {
		t.Error(err)
	}
	if err := removeSecond(); err != nil {
		t.Error(err)
	}
	if got := there(); !slices.Equal(got, []string{".export-other", ".exporter-1"}) {
		t.Errorf("in the end there are %q", got)
	}
	if _, _, err := Draft(filepath.Join(in, "nowhere"), ".export"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}
