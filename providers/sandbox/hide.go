//go:build linux || darwin

package sandbox

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// hide keeps the key out of an answer: a service that quotes the request in an error would hand it to the program. Stars of the same
// length take its place, so that lengths stay true.
func hide(res *http.Response, key string) {
	if len(key) < 8 { // no real key; hiding it would tear words
		return
	}
	for name, values := range res.Header {
		for i, v := range values {
			if strings.Contains(v, key) {
				res.Header[name][i] = strings.ReplaceAll(v, key, strings.Repeat("*", len(key)))
			}
		}
	}
	if res.Body != nil && res.Body != http.NoBody {
		res.Body = &hidingBody{ReadCloser: res.Body, key: []byte(key)}
	}
}

// hidingBody passes bytes on as they come, and holds back only what may be the beginning of the key.
type hidingBody struct {
	io.ReadCloser
	key  []byte
	held []byte // read, not yet passed on
	err  error
}

func (h *hidingBody) Read(b []byte) (int, error) {
	for {
		if n := h.ready(); n > 0 {
			n = copy(b, h.held[:n])
			h.held = h.held[n:]
			return n, nil
		}
		if h.err != nil {
			return 0, h.err
		}
		buf := make([]byte, max(len(b), 512))
		n, err := h.ReadCloser.Read(buf)
		h.held, h.err = append(h.held, buf[:n]...), err
		for at := bytes.Index(h.held, h.key); at >= 0; at = bytes.Index(h.held, h.key) {
			copy(h.held[at:], bytes.Repeat([]byte("*"), len(h.key)))
		}
	}
}

// ready is how much of what is held cannot be the beginning of the key.
func (h *hidingBody) ready() int {
	if h.err != nil {
		return len(h.held)
	}
	for n := min(len(h.key)-1, len(h.held)); n > 0; n-- {
		if bytes.HasPrefix(h.key, h.held[len(h.held)-n:]) {
			return len(h.held) - n
		}
	}
	return len(h.held)
}
