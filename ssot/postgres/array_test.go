package postgres

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// Lists of bytes are written as the library writes them.
func TestArrays(t *testing.T) {
	t.Parallel()
	usual := pgtype.NewMap()
	bytea, _ := usual.TypeForOID(pgtype.ByteaOID)
	quick := byteaArrays{&pgtype.ArrayCodec{ElementType: bytea}}
	rapid.Check(t, func(r *rapid.T) {
		element := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Just([]byte(nil)), rapid.Just([]byte{}))
		list := rapid.OneOf(rapid.SliceOf(element), rapid.Just([][]byte(nil))).Draw(r, "list")
		before := rapid.SliceOf(rapid.Byte()).Draw(r, "before")
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			want, err := usual.Encode(pgtype.ByteaArrayOID, format, list, bytes.Clone(before))
			if err != nil {
				r.Fatal(err)
			}
			m := pgtype.NewMap()
			m.RegisterType(&pgtype.Type{Name: "_bytea", OID: pgtype.ByteaArrayOID, Codec: quick})
			got, err := m.Encode(pgtype.ByteaArrayOID, format, list, bytes.Clone(before))
			if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				r.Fatalf("%x in format %d: %x, %v; want %x", list, format, got, err, want)
			}
		}
	})
}
