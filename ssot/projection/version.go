// Package projection is the stored form of the fold, the same in every store: the texts of the rows beside the entries.
package projection

import (
	"hash/fnv"
	"io"
	"reflect"
	"strconv"
	"sync"

	"arbiter/amp"
)

// foldLogic is raised when the same entries give another board although the board's fields are the same, or when the columns of
// the projections change.
const foldLogic = 7

// Version is what projections are made by: foldLogic and the fields of a board. With another one in a store they are rebuilt when
// it is opened for writing.
var Version = sync.OnceValue(func() int64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.Itoa(foldLogic)) // a hash takes everything
	describe(h, reflect.TypeFor[amp.Board](), map[reflect.Type]bool{})
	return int64(h.Sum64() >> 1)
})

// describe writes the form that a type has as JSON: its fields, their types and tags, and so on below.
func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	_, _ = io.WriteString(w, " "+t.String()+":"+t.Kind().String())
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		describe(w, t.Elem(), seen)
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				_, _ = io.WriteString(w, " "+f.Name+"`"+string(f.Tag)+"`")
				describe(w, f.Type, seen)
			}
		}
	default: // the name says it all
	}
}
