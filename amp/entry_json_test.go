package amp

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestEntry_jsonKeepsEveryByte(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"object":    `{"a": 1,  "b":"ü\u0000"}`,
		"newlines":  "{\r\n\t\"a\": 1\n}\n",
		"not utf-8": "\xff\xfe{",
		"empty":     "",
		"separator": "{\"a\":\"\u2028<&>\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := Head{}.Chain(Record{ID: "first", At: time.Unix(1, 0)})
			want := Head{Seq: 1, Hash: head.Hash}.Chain(Record{
				Kind: KindMessage, TaskID: "T-2026-001", Role: Executor, Actor: "a",
				At: time.UnixMilli(1790000000123), ID: "x", Body: []byte(body),
			})
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got Entry
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
			if got.Sum() != want.Hash {
				t.Error("the hash of what was read differs")
			}
		})
	}
}

func TestEntry_jsonRefuses(t *testing.T) {
	t.Parallel()
	e := Head{}.Chain(Record{Kind: KindMessage, Role: Executor, Actor: "a", At: time.UnixMilli(1790000000123), ID: "x", Body: []byte("{}")})
	data, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"no body":              {`"body":"{}",`, ``},
		"two bodies":           {`"body":"{}"`, `"body":"{}","body_base64":"e30="`},
		"no time":              {`"at":"2026-09-21T14:13:20.123Z",`, ``},
		"a time without zone":  {`.123Z"`, `.123"`},
		"a year out of reach":  {`"2026-09-21T14:13:20.123Z"`, `"9999-12-31T23:59:59-10:00"`},
		"a short hash":         {`"prev_hash":"00`, `"prev_hash":"`},
		"a negative seq":       {`"seq":1`, `"seq":-1`},
		"a name in other case": {`"body":`, `"Body":`},
		"a duplicate name":     {`"id":"x"`, `"id":"x","id":"y"`},
	} {
		bad := strings.Replace(string(data), c[0], c[1], 1)
		if bad == string(data) {
			t.Fatalf("%s: nothing was changed in %s", name, data)
		}
		var got Entry
		if err := got.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
	fine := strings.Replace(string(data), `.123Z"`, `.123987+00:00","newer":1`, 1)
	var got Entry
	if err := got.UnmarshalJSON([]byte(fine)); err != nil || !got.At.Equal(e.At) || got.Sum() != e.Hash {
		t.Errorf("a finer time and a newer name: %+v, %v", got, err)
	}
	bad := e
	bad.Actor = "\xff"
	if data, err := bad.MarshalJSON(); err == nil {
		t.Errorf("an actor that is no UTF-8 was written as %s, and its hash would not hold", data)
	}
}
