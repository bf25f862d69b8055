package postgres

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// quickArrays has lists of bytes written to a connection's buffer as they are. Element by element, as it is done for any list, the buffer grows
// by a quarter again and again, and is copied each time: that takes longer than all else that an append does here.
func quickArrays(conn *pgx.Conn) {
	m := conn.TypeMap()
	if t, ok := m.TypeForOID(pgtype.ByteaArrayOID); ok {
		if usual, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: t.OID, Codec: byteaArrays{usual}})
		}
	}
}

// byteaArrays is the codec of lists of bytes.
type byteaArrays struct{ *pgtype.ArrayCodec }

// PlanEncode says how a list is written.
func (c byteaArrays) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if all, ok := value.([][]byte); ok && all != nil && format == pgtype.BinaryFormatCode {
		return byteaArrays{}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode appends a list of bytes in the database's form: one dimension, whether an element is NULL, the type of the elements, how many they are,
// the number of the first one, and each with its length.
func (byteaArrays) Encode(value any, buf []byte) ([]byte, error) {
	all := value.([][]byte) //nolint:forcetypeassert // PlanEncode made sure
	const header = 20
	size, null := header, uint32(0)
	for _, b := range all {
		size += 4 + len(b)
		if b == nil {
			null = 1
		}
	}
	buf = slices.Grow(buf, size)
	buf = binary.BigEndian.AppendUint32(buf, 1)
	buf = binary.BigEndian.AppendUint32(buf, null)
	buf = binary.BigEndian.AppendUint32(buf, pgtype.ByteaOID)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(all)))
	buf = binary.BigEndian.AppendUint32(buf, 1)
	for _, b := range all {
		if b == nil {
			buf = binary.BigEndian.AppendUint32(buf, math.MaxUint32)
			continue
		}
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(b)))
		buf = append(buf, b...)
	}
	return buf, nil
}
