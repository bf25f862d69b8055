package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arbiter/tui/theme"
)

// items is a source whose rows say which item and which of its rows they are.
type items struct {
	ids   []string
	rows  map[string]int // rows of an item, 1 if missing
	drawn int
	vers  map[string]uint64
}

func (s *items) source() Source {
	return Source{
		Len:     func() int { return len(s.ids) },
		ID:      func(i int) string { return s.ids[i] },
		Version: func(i int) uint64 { return s.vers[s.ids[i]] },
		Lines: func(i, w int, selected bool) []Line {
			s.drawn++
			n := max(s.rows[s.ids[i]], 1)
			out := make([]Line, n)
			for j := range out {
				mark := " "
				if selected {
					mark = ">"
				}
				out[j] = Line{Head: Pad(fmt.Sprintf("%s%s/%d v%d", mark, s.ids[i], j, s.vers[s.ids[i]]), w)}
			}
			return out
		},
	}
}

func numbered(n int) *items {
	s := &items{rows: map[string]int{}, vers: map[string]uint64{}}
	for i := range n {
		s.ids = append(s.ids, fmt.Sprintf("t%d", i))
	}
	return s
}

func cursorID(t interface{ Fatalf(string, ...any) }, l *List) string {
	id, _, ok := l.Cursor()
	if !ok {
		t.Fatalf("the list has no cursor")
	}
	return id
}

func TestList_cursorIsAnID(t *testing.T) {
	t.Parallel()
	s := numbered(100)
	l := NewList(theme.Default(), s.source())
	l.Render(20, 10)
	l.Move(50)
	before := strings.Join(l.Render(20, 10).Rows(), "\n")
	s.ids = slices.Insert(s.ids, 3, "new1", "new2", "new3")
	if got := cursorID(t, l); got != "t50" {
		t.Errorf("after an insert above the cursor is on %s, want t50", got)
	}
	if after := strings.Join(l.Render(20, 10).Rows(), "\n"); after != before {
		t.Errorf("an insert above moved the screen:\n%s\nwas:\n%s", after, before)
	}
	s.ids = slices.Delete(s.ids, 0, 10)
	if got := cursorID(t, l); got != "t50" {
		t.Errorf("after deletes above the cursor is on %s, want t50", got)
	}
	at := slices.Index(s.ids, "t50")
	s.ids = slices.Delete(s.ids, at, at+1)
	if got := cursorID(t, l); got != "t51" {
		t.Errorf("after its item went the cursor is on %s, want its successor t51", got)
	}
}

func TestList_empty(t *testing.T) {
	t.Parallel()
	s := numbered(0)
	l := NewList(theme.Default(), s.source())
	l.Move(3)
	l.Bottom()
	checkRows(t, "empty", l.Render(10, 4).Rows(), 10, 4)
	if _, _, ok := l.Cursor(); ok {
		t.Error("an empty list has a cursor")
	}
	s.ids = []string{"a", "b"}
	if got := cursorID(t, l); got != "a" {
		t.Errorf("cursor = %s, want a", got)
	}
	s.ids = nil
	checkRows(t, "empty again", l.Render(10, 4).Rows(), 10, 4)
}

func TestList_follow(t *testing.T) {
	t.Parallel()
	s := numbered(30)
	l := NewList(theme.Default(), s.source())
	l.Follow(true)
	l.Render(10, 5)
	s.ids = append(s.ids, "last")
	if rows := l.Render(10, 5).Rows(); !strings.Contains(rows[4], ">last") {
		t.Errorf("the last row is %q, want the item that arrived", rows[4])
	}
	l.Move(-1)
	s.ids = append(s.ids, "later")
	l.Render(10, 5)
	if got := cursorID(t, l); got != "t29" || l.Following() {
		t.Errorf("a movement upwards did not end following: cursor %s", got)
	}
}

func TestList_skip(t *testing.T) {
	t.Parallel()
	s := numbered(6)
	src := s.source()
	src.Skip = func(i int) bool { return i == 0 || i == 3 }
	l := NewList(theme.Default(), src)
	l.Render(10, 6)
	var got []string
	for range 4 {
		got = append(got, cursorID(t, l))
		l.Move(1)
	}
	l.Top()
	got = append(got, cursorID(t, l))
	if want := []string{"t1", "t2", "t4", "t5", "t1"}; !slices.Equal(got, want) {
		t.Errorf("the cursor went through %v, want %v", got, want)
	}
}

func TestList_highItem(t *testing.T) {
	t.Parallel()
	s := numbered(3)
	s.rows["t1"] = 7
	l := NewList(theme.Default(), s.source())
	l.Render(10, 3)
	var got []string
	for range 7 {
		l.Move(1)
		got = append(got, strings.TrimSpace(strings.Fields(l.Render(10, 3).Rows()[0])[0]))
	}
	want := []string{">t1/0", ">t1/1", ">t1/2", ">t1/3", ">t1/4", "t1/5", "t1/5"}
	if !slices.Equal(got, want) {
		t.Errorf("the first rows were %v, want %v", got, want)
	}
}

func TestList_click(t *testing.T) {
	t.Parallel()
	s := numbered(30)
	s.rows["t1"] = 3
	l := NewList(theme.Default(), s.source())
	l.Render(10, 8)
	if !l.Click(3) || cursorID(t, l) != "t1" {
		t.Errorf("a click on the third row of t1 selects %s", cursorID(t, l))
	}
	if !l.Click(4) || cursorID(t, l) != "t2" {
		t.Errorf("a click below selects %s", cursorID(t, l))
	}
	if l.Click(8) || l.Click(-1) {
		t.Error("a click outside hits")
	}
}

// What is on the screen is a part of a longer list, a single row too, or all of it.
func TestList_part(t *testing.T) {
	t.Parallel()
	l := NewList(theme.Default(), numbered(10).source())
	for _, tc := range []struct {
		h    int
		want string
	}{{1, "1 of 10"}, {4, "1-4 of 10"}, {10, ""}, {0, "0 of 10"}} {
		l.Render(20, tc.h)
		if got := l.Part(); got != tc.want {
			t.Errorf("%d rows of 10 are called %q, want %q", tc.h, got, tc.want)
		}
	}
}

func TestList_cache(t *testing.T) {
	t.Parallel()
	s := numbered(1000)
	l := NewList(theme.Default(), s.source())
	l.Render(20, 10)
	s.drawn = 0
	l.Render(20, 10)
	if s.drawn != 0 {
		t.Errorf("a second render drew %d rows, want 0", s.drawn)
	}
	s.vers["t4"]++
	l.Render(20, 10)
	if s.drawn != 1 {
		t.Errorf("a changed version drew %d rows, want 1", s.drawn)
	}
	s.drawn = 0
	l.Move(1)
	l.Render(20, 10)
	if s.drawn != 2 {
		t.Errorf("moving the cursor drew %d rows, want the two that changed", s.drawn)
	}
	s.drawn = 0
	other, _ := theme.New("light", theme.ANSI16, theme.UTF8)
	l.SetTheme(other)
	l.Render(20, 10)
	if s.drawn != 10 {
		t.Errorf("another theme drew %d rows, want all 10", s.drawn)
	}
	for range 990 {
		l.Move(1)
		l.Render(20, 10)
	}
	if n := l.cache.len(); n > cacheRows {
		t.Errorf("the cache holds %d items, want at most %d", n, cacheRows)
	}
}

// TestList_likeANaiveOne runs random changes and movements against a list that draws everything.
func TestList_likeANaiveOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := numbered(rapid.IntRange(0, 60).Draw(r, "n"))
		next := 1000
		l := NewList(theme.Default(), s.source())
		w, h := 20, rapid.IntRange(1, 12).Draw(r, "h")
		l.Render(w, h)
		want, at := "", 0 // what the cursor should be
		if len(s.ids) > 0 {
			want = s.ids[0]
		}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			switch rapid.IntRange(0, 7).Draw(r, "op") {
			case 0: // insert
				id := fmt.Sprintf("t%d", next)
				next++
				s.ids = slices.Insert(s.ids, rapid.IntRange(0, len(s.ids)).Draw(r, "at"), id)
				s.rows[id] = rapid.IntRange(1, h+3).Draw(r, "rows")
			case 1: // delete
				if len(s.ids) > 0 {
					i := rapid.IntRange(0, len(s.ids)-1).Draw(r, "at")
					s.ids = slices.Delete(s.ids, i, i+1)
				}
			case 2: // reorder
				s.ids = rapid.Permutation(s.ids).Draw(r, "order")
			case 3: // grow
				if len(s.ids) > 0 {
					id := rapid.SampledFrom(s.ids).Draw(r, "id")
					s.rows[id], s.vers[id] = rapid.IntRange(1, h+3).Draw(r, "rows"), s.vers[id]+1
				}
			case 4:
				h = rapid.IntRange(1, 12).Draw(r, "h")
			case 5:
				if len(s.ids) > 0 {
					id := rapid.SampledFrom(s.ids).Draw(r, "id")
					if !l.Select(id) {
						r.Fatalf("Select(%s) did not find it", id)
					}
					want = id
				}
			default:
				n := rapid.IntRange(-15, 15).Draw(r, "move")
				at = settle(s.ids, want, at)
				l.Move(n)
				if len(s.ids) > 0 && l.inside == "" {
					want = s.ids[min(max(at+n, 0), len(s.ids)-1)]
				}
			}
			at = settle(s.ids, want, at)
			rows := l.Render(w, h).Rows()
			checkRows(r, "list", rows, w, h)
			if len(s.ids) == 0 {
				want, at = "", 0
				continue
			}
			want = s.ids[at]
			if got := cursorID(r, l); got != want {
				r.Fatalf("the cursor is on %s, want %s in %v", got, want, s.ids)
			}
			naive(r, s, rows, want, h, l.inside == "")
		}
	})
}

// settle returns where the cursor is: on its id, or where it was when that is gone.
func settle(ids []string, id string, at int) int {
	if i := slices.Index(ids, id); i >= 0 {
		return i
	}
	return max(min(at, len(ids)-1), 0)
}

// naive draws everything and fails unless the screen is a window of it that has the cursor, without blank rows
// below while there is more above.
func naive(r *rapid.T, s *items, rows []string, cursor string, h int, whole bool) {
	var all []string
	for i, id := range s.ids {
		for _, l := range s.source().Lines(i, 20, id == cursor) {
			all = append(all, l.Head)
		}
	}
	for len(all) < h {
		all = append(all, blanks(20))
	}
	window := strings.Join(rows, "\n")
	if !strings.Contains(strings.Join(all, "\n")+"\n", window+"\n") {
		r.Fatalf("the screen is no window of the list:\n%s\nof:\n%s", window, strings.Join(all, "\n"))
	}
	if !strings.Contains(window, ">"+cursor+"/") || whole && !strings.Contains(window, ">"+cursor+"/0") {
		r.Fatalf("the first row of %s is not on the screen:\n%s", cursor, window)
	}
}
