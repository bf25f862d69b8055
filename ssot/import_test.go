package ssot_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// exchanged is a file that somebody replaces while it is read: from the second reading on it is another one.
type exchanged struct {
	*strings.Reader
	second *strings.Reader
}

func (x *exchanged) Seek(offset int64, whence int) (int64, error) {
	x.Reader = x.second
	return x.Reader.Seek(offset, whence)
}

// What is stored is what was verified, also when the file is another one by then.
func TestImport_changedMeanwhile(t *testing.T) {
	t.Parallel()
	_, lines := journal(t, 5000)
	other := memory.New()
	for i := range 5000 {
		appendTo(t, other, ssottest.Note("other-"+string(rune('a'+i%26))+strings.Repeat("x", i/26), "", ""))
	}
	shorter, _ := journal(t, 3000)
	for name, second := range map[string][]string{
		"another journal": export(t, other, ssot.Part{}), "cut off": lines[:4000], "nothing": nil, "a shorter one": export(t, shorter, ssot.Part{}),
		"its end is torn": append(append([]string(nil), lines[:4500]...), lines[4501:]...),
	} {
		to := memory.New()
		n, err := ssot.Import(t.Context(), to, &exchanged{reader(lines), reader(second)}, nil)
		if !errors.Is(err, ssot.ErrChanged) {
			t.Errorf("%s: Import = %d, %v", name, n, err)
		}
		if stored := head(t, to); int(stored.Seq) != n {
			t.Errorf("%s: %d entries are stored, %d were told of", name, stored.Seq, n)
		}
		if again, err := ssot.Import(t.Context(), to, reader(lines), nil); err != nil || n+again != 5000 {
			t.Errorf("%s: given again: %d, %v", name, again, err)
		}
	}
}

// An id that is there twice is found before anything is stored: a journal holds it once.
func TestImport_idTwice(t *testing.T) {
	t.Parallel()
	_, lines := journal(t, 2500)
	for name, body := range map[string]string{"the same entry": "", "another content": "{}"} {
		log, _ := journal(t, 2500)
		all, err := ssottest.All(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		r := all[2].Record
		if body != "" {
			r.Kind, r.Body = amp.KindBus, []byte(body)
		}
		e := head(t, log).Chain(r)
		text, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		to := memory.New()
		n, err := ssot.Import(t.Context(), to, reader(append(append([]string(nil), lines[:2500]...), string(text)+"\n", lines[2500])), nil)
		if x, ok := errors.AsType[*ssot.LineError](err); !ok || x.Line != 2501 || !strings.Contains(x.Why, "id") || n != 0 || head(t, to).Seq != 0 {
			t.Errorf("%s: Import = %d, %v", name, n, err)
		}
	}
}

// What a newer version wrote is told apart from what is broken.
func TestImport_newer(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 3)
	e := head(t, log).Chain(amp.Record{Kind: "dream", ID: "new", At: ssottest.Start, Role: amp.System, Actor: "later"})
	text, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	form := strings.Replace(lines[3], ssot.ExportForm, "arbiter/2", 1)
	for name, c := range map[string]struct {
		lines []string
		newer bool
	}{
		"a kind":         {[]string{lines[0], lines[1], lines[2], string(text) + "\n", lines[3]}, true},
		"a form":         {[]string{lines[0], lines[1], lines[2], form}, true},
		"no form":        {[]string{lines[0], lines[1], lines[2], strings.Replace(lines[3], ssot.ExportForm, "dream/2", 1)}, false},
		"a broken entry": {[]string{lines[0], lines[2]}, false},
	} {
		_, err := ssot.Import(t.Context(), memory.New(), reader(c.lines), nil)
		if x, ok := errors.AsType[*ssot.LineError](err); !ok || x.Newer != c.newer {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A log that goes on where the export or the other log ends is told apart from another journal.
func TestImport_ahead(t *testing.T) {
	t.Parallel()
	log, lines := journal(t, 20)
	more := begun(t, log, 20)
	appendTo(t, more, ssottest.Note("more", "", ""))
	other := memory.New()
	for range 21 {
		appendTo(t, other, ssottest.Note("other"+strings.Repeat("x", int(head(t, other).Seq)), "", ""))
	}
	_, imported := ssot.Import(t.Context(), more, reader(lines), nil)
	_, _, copied := ssot.Copy(t.Context(), log, more, nil)
	for _, err := range []error{imported, copied} {
		if x, ok := errors.AsType[*ssot.AheadError](err); !ok || x.Stored != head(t, more) || x.Given != head(t, log) || !errors.Is(err, ssot.ErrOther) {
			t.Errorf("into a log that goes on: %v", err)
		}
	}
	_, imported = ssot.Import(t.Context(), other, reader(lines), nil)
	_, _, copied = ssot.Copy(t.Context(), log, other, nil)
	for _, err := range []error{imported, copied} {
		if _, ahead := errors.AsType[*ssot.AheadError](err); ahead || !errors.Is(err, ssot.ErrOther) {
			t.Errorf("into another one: %v", err)
		}
	}
}

var _ io.ReadSeeker = (*exchanged)(nil)
