package editor

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sh is an editor that is a line of shell; the file is $1.
func sh(body string, t *Text) []string { return []string{"sh", "-c", body, "editor", t.File()} }

func open(t *testing.T, in string) *Text {
	t.Helper()
	x, err := Open(in, "plan.toml", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// folders are the folders of texts that are there.
func folders(t *testing.T, in string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(in, "[0-9a-f]*-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body, got string
		fails     bool
		stays     string // what stays below the folder when it was not taken
	}{
		"typed":                      {`printf ' more' >>"$1"`, "text more", false, "plan.toml"},
		"nothing typed":              {`:`, "text", false, ""},
		"typed, then failed":         {`printf ' more' >>"$1"; exit 3`, "text more", true, "plan.toml"},
		"failed":                     {`exit 3`, "", true, ""},
		"ended with a copy beside":   {`printf x >"$(dirname "$1")/.plan.toml.swp"; kill -HUP $$`, "", true, "."},
		"removed":                    {`rm "$1"`, "", true, ""},
		"written under another name": {`mv "$1" "$(dirname "$1")/b.toml"; printf x >>"$(dirname "$1")/b.toml"`, "", true, "b.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := filepath.Join(t.TempDir(), "edits")
			x := open(t, in)
			got, err := x.Run(sh(tc.body, x), nil, io.Discard, io.Discard)
			if string(got) != tc.got || (err != nil) != tc.fails {
				t.Errorf("got %q, %v", got, err)
			}
			want := ""
			if tc.stays != "" {
				want = filepath.Join(filepath.Dir(x.File()), tc.stays)
			}
			if x.Where() != want {
				t.Errorf("it is in %q, want %q", x.Where(), want)
			}
			if err := x.Keep(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Dir(x.File())); (err == nil) != (tc.stays != "") {
				t.Errorf("kept: %v", err)
			}
			if left, err := Left(in, time.Now()); left != nil || err != nil { // the person was told
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

func TestText_taken(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	x := open(t, in)
	if err := x.Protect(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(x.File()); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("protected: %v, %v", info, err)
	}
	if _, err := x.Run(sh(`printf x >"$1~"`, x), nil, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if err := x.Taken(); err != nil {
		t.Error(err)
	}
	if got := folders(t, in); got != nil {
		t.Errorf("there are %q", got)
	}
}

// Where nothing can be kept, a text can be edited all the same.
func TestOpen_elsewhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, filepath.Join(file, "edits"))
	got, err := x.Run(sh(`printf ' more' >>"$1"`, x), nil, io.Discard, io.Discard)
	if string(got) != "text more" || err != nil || !strings.HasPrefix(x.File(), os.TempDir()) {
		t.Errorf("got %q in %s, %v", got, x.File(), err)
	}
	if err := x.Taken(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(x.File())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// A text with a name that cannot be a file leaves no folder.
func TestOpen_fails(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	if _, err := Open(in, "no/file", nil); err == nil {
		t.Error("it was written")
	}
	if got := folders(t, in); got != nil {
		t.Errorf("there are %q", got)
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "edits")
	left := func(now time.Time, want ...string) {
		t.Helper()
		got, err := Left(in, now)
		if strings.Join(got, " ") != strings.Join(want, " ") || err != nil {
			t.Errorf("left: %q, %v; want %q", got, err, want)
		}
	}
	now := time.Now()
	left(now) // no folder
	untouched, typed, busy := open(t, in), open(t, in), open(t, in)
	for _, x := range []*Text{typed, busy} {
		if _, err := x.Run(sh(`printf ' more' >>"$1"`, x), nil, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	left(now)
	for _, x := range []*Text{untouched, typed} { // as when the program is killed
		if err := x.release(); err != nil {
			t.Fatal(err)
		}
	}
	later := now.Add(2 * oldest)
	left(later, typed.File()) // whatever its age it is told first
	left(now)
	if got := len(folders(t, in)); got != 2 {
		t.Errorf("%d folders, want that of what was typed and the one that is open", got)
	}
	left(later)
	if got := folders(t, in); len(got) != 1 || got[0] != filepath.Dir(busy.File()) {
		t.Errorf("there are %q", got)
	}
	if err := busy.Taken(); err != nil {
		t.Error(err)
	}
}

// An editor that outlives the program keeps its folder.
func TestLeft_editorRuns(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	x := open(t, in)
	fromEditor, out := io.Pipe()
	stdin, toEditor := io.Pipe()
	type end struct {
		got []byte
		err error
	}
	ended := make(chan end, 1)
	go func() {
		got, err := x.Run(sh(`echo open; read -r line; printf '%s' "$line" >>"$1"`, x), stdin, out, io.Discard)
		ended <- end{got, err}
	}()
	if _, err := bufio.NewReader(fromEditor).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := x.lock.Close(); err != nil { // the program is gone, the editor has it still
		t.Fatal(err)
	}
	if left, err := Left(in, time.Now()); left != nil || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
	if _, err := io.WriteString(toEditor, " more\n"); err != nil {
		t.Fatal(err)
	}
	if err := toEditor.Close(); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; string(e.got) != "textmore" || e.err != nil { // read takes the space away
		t.Errorf("got %q, %v", e.got, e.err)
	}
	gone, err := lock(filepath.Join(filepath.Dir(x.File()), lockName), syscall.LOCK_EX) // nobody else has a copy
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(gone); err != nil {
		t.Fatal(err)
	}
	if left, err := Left(in, time.Now()); len(left) != 1 || left[0] != x.File() || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}
