package gitops

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // what git names objects by
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// forge writes a file and returns its name.
func (e *elsewhere) forge(data []byte) string {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "forged.bundle")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		e.t.Fatal(err)
	}
	return file
}

// packOf is a pack with these objects, whatever is in them.
func packOf(objects ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, [2]uint32{2, uint32(len(objects))})
	for _, o := range objects { // of the type that its first byte says
		n, kind := len(o)-1, o[0]
		c := kind<<4 | byte(n&15)
		for n >>= 4; n > 0; n >>= 7 {
			b.WriteByte(c | 0x80)
			c = byte(n & 0x7f)
		}
		b.WriteByte(c)
		z := zlib.NewWriter(&b)
		_, _ = z.Write(o[1:])
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // as above
	b.Write(sum[:])
	return b.Bytes()
}

const (
	kindCommit = 1
	kindTree   = 2
)

// object is an object of a kind, and its name.
func object(kind byte, data []byte) (packed []byte, name string) {
	word := map[byte]string{kindCommit: "commit", kindTree: "tree"}[kind]
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", word, len(data), data)) //nolint:gosec // as above
	return append([]byte{kind}, data...), fmt.Sprintf("%x", sum)
}

func commitOf(tree string, parents ...string) []byte {
	var text strings.Builder
	text.WriteString("tree " + tree + "\n")
	for _, p := range parents {
		text.WriteString("parent " + p + "\n")
	}
	return []byte(text.String() + "author A <a@example.org> 1700000000 +0000\ncommitter A <a@example.org> 1700000000 +0000\n\nforged\n")
}

// What lies, is broken or is too much is refused with its reason, and leaves the repository as it was.
func TestTake_refuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	e := newElsewhere(b, w)
	b.prepare(w, "turn-1")
	p := e.prepare(e.w, "there-1")
	e.write(p.Dir, "run.go", "package main\n")
	e.commit(p.Dir, p.Env, "work")
	e.write(p.Dir, "left.go", "package main\n")
	parcel, file := e.pack("there-1")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, pack, _ := strings.Cut(string(good), "\n\n")
	header := func(ref, commit string, needs ...string) []byte {
		var text strings.Builder
		text.WriteString("# v2 git bundle\n")
		for _, n := range needs {
			text.WriteString("-" + n + "\n")
		}
		return []byte(text.String() + commit + " " + ref + "\n\n")
	}
	other := b.sh(b.repo, person, "git", "commit-tree", b.base+"^{tree}", "-m", "a commit of another branch")
	b.sh(b.repo, nil, "git", "branch", "other", other)

	dotgit := append([]byte("40000 .git\x00"), make([]byte, 20)...)
	evilTree, evilName := object(kindTree, dotgit)
	evil, evilCommit := object(kindCommit, commitOf(evilName, b.base))
	orphan, orphanName := object(kindCommit, commitOf(b.rev(b.base+"^{tree}")))
	holey, holeyName := object(kindCommit, commitOf(strings.Repeat("1", 40), b.base))
	merged, mergedName := object(kindCommit, commitOf(b.rev(b.base+"^{tree}"), parcel.Tip, b.base))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-30] ^= 1

	for name, tc := range map[string]struct {
		data   []byte
		parcel amp.Parcel
		why    string
	}{
		"no bundle":          {[]byte("hello"), parcel, "is none"},
		"empty":              {nil, parcel, "is none"},
		"cut in its header":  {good[:30], parcel, "broken header"},
		"cut in its pack":    {good[:len(good)-25], parcel, "git refuses its objects"},
		"a bit flipped":      {flipped, parcel, "git refuses its objects"},
		"another ref":        {append(header("refs/heads/main", parcel.Head(), b.base), pack...), parcel, `holds the ref "refs/heads/main"`},
		"two refs":           {[]byte(head + "\n" + parcel.Tip + " refs/heads/main\n\n" + pack), parcel, `holds the ref "refs/heads/main"`},
		"no ref":             {append([]byte("# v2 git bundle\n\n"), pack...), parcel, "holds no ref"},
		"a capability":       {append([]byte("# v3 git bundle\n@filter=blob:none\n"+parcel.Head()+" "+resultRef+"\n\n"), pack...), parcel, "capability"},
		"another commit":     {good, amp.Parcel{Tip: strings.Repeat("4", 40)}, "announced was"},
		"a name as commit":   {good, amp.Parcel{Tip: "main"}, "no commit name"},
		"an option":          {good, amp.Parcel{Tip: "--all"}, "no commit name"},
		"unknown base":       {append(header(resultRef, parcel.Head(), strings.Repeat("2", 40)), pack...), parcel, "which is not here"},
		"another branch":     {append(header(resultRef, parcel.Head(), other), pack...), parcel, "no part of"},
		"not from the base":  {append(header(resultRef, orphanName), packOf(orphan)...), amp.Parcel{Tip: orphanName}, "does not descend"},
		"a missing tree":     {append(header(resultRef, holeyName, b.base), packOf(holey)...), amp.Parcel{Tip: holeyName}, "git refuses its objects"},
		"a folder .git":      {append(header(resultRef, evilCommit, b.base), packOf(evilTree, evil)...), amp.Parcel{Tip: evilCommit}, "git refuses its objects"},
		"a tree as commit":   {append(header(resultRef, evilName, b.base), packOf(evilTree)...), amp.Parcel{Tip: evilName}, "refuses its objects"},
		"not in the bundle":  {append(header(resultRef, strings.Repeat("3", 40), b.base), pack...), amp.Parcel{Tip: strings.Repeat("3", 40)}, "is not in the bundle"},
		"left is no child":   {append(header(resultRef, mergedName, b.base), packOf(merged)...), amp.Parcel{Tip: parcel.Tip, Left: mergedName}, "refuses its objects"},
		"left is the base's": {good, amp.Parcel{Tip: b.base, Left: parcel.Head()}, "no commit on top of"},
	} {
		t.Run(name, func(t *testing.T) {
			e := *e
			e.bench = &bench{t: t, g: e.g, repo: e.repo, base: e.base}
			e.here = &bench{t: t, g: b.g, repo: b.repo, base: b.base}
			e.wantRefused(w, "turn-1", e.forge(tc.data), tc.parcel, tc.why)
		})
	}
	for what, less := range map[string]bounds{"objects, more than": {objects: 2}, "MB unpacked": {unpacked: 10}} {
		b.g.parcels = less
		e.wantRefused(w, "turn-1", file, parcel, what)
	}
	b.g.parcels = parcelBounds
	if err := b.g.Take(t.Context(), w, "turn-1", file, parcel); err != nil { // after all that, the honest one is taken
		t.Error(err)
	}
}

// A branch that moved meanwhile is left alone.
func TestTake_moved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	e := newElsewhere(b, w)
	here := b.prepare(w, "turn-1")
	p := e.prepare(e.w, "there-1")
	e.write(p.Dir, "run.go", "package main\n")
	e.commit(p.Dir, p.Env, "work")
	parcel, file := e.pack("there-1")
	b.write(here.Dir, "mine.go", "package main\n")
	mine := b.commit(here.Dir, person, "a person's commit")
	if err := b.g.Take(t.Context(), w, "turn-1", file, parcel); err == nil || !strings.Contains(err.Error(), "by now") {
		t.Errorf("Take = %v", err)
	}
	if got := b.rev(w.Branch); got != mine {
		t.Errorf("the branch is at %s, want %s", got, mine)
	}
	if err := b.g.Take(t.Context(), w, "turn-2", file, parcel); err == nil || !strings.Contains(err.Error(), "nothing is recorded") {
		t.Errorf("a turn that never began: %v", err)
	}
}

// What the agent did that cannot be packed is said; nothing is sent of it.
func TestPack_refuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do  func(e *elsewhere, p amp.Prepared)
		why string
	}{
		"a branch that is gone": {func(e *elsewhere, p amp.Prepared) {
			e.sh(p.Dir, nil, "git", "checkout", "-q", "--detach")
			e.sh(e.repo, nil, "git", "branch", "-q", "-D", e.w.Branch)
		}, "the branch was deleted"},
		"a worktree of its own": {func(e *elsewhere, p amp.Prepared) {
			if err := os.Remove(filepath.Join(p.Dir, ".git")); err != nil {
				e.t.Fatal(err)
			}
			e.sh(p.Dir, nil, "git", "init", "-q")
		}, "cannot be trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			e := newElsewhere(b, b.space("T-2026-001"))
			tc.do(e, e.prepare(e.w, "there-1"))
			if _, err := e.g.Pack(t.Context(), e.w, "there-1", filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("Pack = %v, want %q", err, tc.why)
			}
		})
	}
}

// Whatever stands at the beginning of a bundle, it is read without harm, and what is read is what must be there.
func FuzzBundleHeader(f *testing.F) {
	f.Add([]byte("# v2 git bundle\n-" + strings.Repeat("a", 40) + " x\n" + strings.Repeat("b", 40) + " " + resultRef + "\n\nPACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte("# v3 git bundle\n@object-format=sha256\n" + strings.Repeat("b", 64) + " " + resultRef + "\n\nPACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte("# v2 git bundle\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(bytes.NewReader(data), resultRef)
		if err != nil {
			return
		}
		if !isHex(h.commit) || h.size > int64(len(data)) || !bytes.HasPrefix(data[h.size:], []byte("PACK")) || len(h.needs) > maxNeeds {
			t.Errorf("read %+v of %q", h, data)
		}
	})
}
