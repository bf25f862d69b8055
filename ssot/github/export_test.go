package github

import "context"

// Once runs one round.
func Once(ctx context.Context, m *Mirror) error { return m.round(ctx) }

// DecodeLine is decodeLine, for the fuzz test.
func DecodeLine(data []byte) (encoded []byte, seq uint64, err error) {
	l, err := decodeLine(data)
	if err != nil {
		return nil, 0, err
	}
	encoded, err = l.encode(true)
	return encoded, l.Seq, err
}

// DecodeHead is decodeHead, for the fuzz test.
func DecodeHead(data []byte) ([]byte, error) {
	h, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	return h.encode()
}

// SegmentPath is segmentPath, SeqOf seqOf, TaskPath taskPath.
var (
	SegmentPath = segmentPath
	SeqOf       = seqOf
	TaskPath    = taskPath
)
