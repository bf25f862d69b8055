package amp

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecode: nothing panics; what is read is the same after it was written and read again; what the
// strict door takes, the lenient one and the standard library take; every refusal names its rule.
func FuzzDecode(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
		f.Add(bytes.Replace(data, []byte(`"payload"`), []byte(`"x_new":{"a":[null]},"payload"`), 1))
	}
	f.Add([]byte(`{"type":"task_result","payload":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		strict, _, strictErr := DecodeStrict(data)
		m, warnings, err := Decode(data)
		if err != nil {
			inv, ok := errors.AsType[*InvalidError](err)
			if !ok || len(inv.Problems) == 0 || m != nil {
				t.Fatalf("Decode = %v, %v", m, err)
			}
			for _, p := range append(inv.Problems, warnings...) {
				if p.Rule == "" || p.Message == "" {
					t.Fatalf("a problem without rule or words: %+v", p)
				}
			}
			if strictErr == nil {
				t.Fatalf("strict took what lenient refuses: %v", err)
			}
			return
		}
		if strictErr == nil {
			if diff := cmp.Diff(m, strict, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("strict and lenient read different messages:\n%s", diff)
			}
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatalf("the standard library refuses it: %v", err)
			}
			if err := json.Unmarshal(data, &struct {
				Payload any `json:"payload"`
			}{newPayload(m.Type)}); err != nil {
				t.Fatalf("the standard library refuses its payload: %v", err)
			}
		}
		out, err := Encode(m)
		if err != nil {
			if len(data) > MaxMessage/2 { // a full message may be over the limit in another form
				return
			}
			t.Fatalf("Encode refuses what Decode took: %v", err)
		}
		again, _, err := DecodeStrict(out)
		if err != nil {
			t.Fatalf("Decode refuses what Encode wrote: %v\n%s", err, out)
		}
		if diff := cmp.Diff(m, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after Encode and Decode:\n%s", diff)
		}
	})
}

// FuzzEntryJSON: an entry that can be read is the same after it was written and read again, its hash included.
func FuzzEntryJSON(f *testing.F) {
	for _, body := range []string{"", `{"a":1}`, "\xff\x00", "\u2028<&>"} {
		e := Head{}.Chain(Record{
			Kind: KindMessage, TaskID: "T-2026-044", Role: Executor, Actor: "codex", At: time.UnixMilli(1740576727001),
			ID: "x", Body: []byte(body),
		})
		data, err := e.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"at":"9999-12-31T23:59:59-10:00","body":"","hash":"00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Entry
		if e.UnmarshalJSON(data) != nil {
			return
		}
		out, err := e.MarshalJSON()
		if err != nil {
			t.Fatalf("an entry that was read cannot be written: %v", err)
		}
		var again Entry
		if err := again.UnmarshalJSON(out); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after a round trip:\n%s", diff)
		}
		if e.Sum() != again.Sum() {
			t.Fatal("the hash differs after a round trip")
		}
		var std Entry
		if err := json.Unmarshal(out, &std); err != nil || std.Sum() != e.Sum() {
			t.Fatalf("the standard library reads another entry: %v", err)
		}
	})
}
