package bus

import (
	"bytes"
	"strings"
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

// BenchmarkDecode judges a message of 1 KB.
func BenchmarkDecode(b *testing.B) {
	raw := []byte(`{"message_id":"m-1","timestamp":"2026-11-22T08:00:00Z","sender":{"agent_id":"x://a","framework":"x"},"recipient":{"agent_id":"x://b","framework":"x"},` +
		`"message_type":"status_update","priority":"medium","payload":{"notes":"` + strings.Repeat("n", 600) + `"},"metadata":{"task_id":"t"},` +
		`"routing":{"timeout":"60s","retry_policy":{"max_retries":2,"backoff":"linear"},"delivery_mode":"async"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
