package sentient

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// overwrite returns a message with the repairs in it and every other byte as it was (S03). The message was read before.
func overwrite(data []byte, repairs []amp.Repair) []byte {
	to := map[string]amp.Raw{}
	for _, r := range repairs {
		to[r.Field] = r.To
	}
	if len(to) == 0 {
		return bytes.Clone(data)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	var out []byte
	copied := 0
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		depth := dec.StackDepth()
		if kind, n := dec.StackIndex(depth); kind != '{' || n%2 == 0 || tok.Kind() != '"' {
			continue
		}
		field := strings.ReplaceAll(strings.TrimPrefix(string(dec.StackPointer()), "/"), "/", ".")
		value, there := to[field]
		if !there || depth != 1+strings.Count(field, ".") {
			continue
		}
		old, err := dec.ReadValue()
		if err != nil {
			break
		}
		end := int(dec.InputOffset())
		out = append(append(out, data[copied:end-len(old)]...), value...)
		copied = end
	}
	return append(out, data[copied:]...)
}
