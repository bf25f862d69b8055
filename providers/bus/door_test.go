package bus

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The members of an object are what a decoder of JSON says they are, and parts of its bytes.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1,"b":[{"a":2}],"\u0063":"x"}`, ` { "a" : {"b": null} } `, `{"a":1,"a":2}`, `[1]`, `{"a":1}x`, `{"a"`, `{"a":1,}`, "null", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := members(data)
		var want map[string]jsontext.Value
		if v := jsontext.Value(data); v.Kind() != '{' || json.Unmarshal(v, &want) != nil {
			want = nil
		}
		if (got == nil) != (want == nil) || len(got) != len(want) {
			t.Fatalf("%q: %v, want %v", data, got, want)
		}
		for name, v := range want {
			if !bytes.Equal(got[name], v) {
				t.Errorf("%q: %s is %q, want %q", data, name, got[name], v)
			}
		}
	})
}
