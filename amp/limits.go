package amp

import "bytes"

// The limits of the door. The JSON library has a far higher limit for depth and none for size.
const (
	// MaxMessage is how many bytes a message may have, 1 MiB.
	MaxMessage = 1 << 20
	// MaxDepth is how many objects and arrays may be nested in each other.
	MaxDepth = 64
)

// DepthOf is how deep data is nested. Of data that is no JSON it is a number without meaning.
func DepthOf(data []byte) int {
	open, depth := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			open++
			depth = max(depth, open)
		case '}', ']':
			open--
		case '"':
			i = stringEnd(data, i)
		}
	}
	return depth
}

// stringEnd is the index of the quote that ends the string which starts at i, or the end of data.
func stringEnd(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}
