package amp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"arbiter/amp"
)

// insert puts text before the payload of a sample.
func insert(t testing.TB, typ amp.MessageType, text string) []byte {
	return bytes.Replace(sample(t, typ), []byte(`"payload":`), []byte(text+`"payload":`), 1)
}

// TestDecode_wire: the wire format is one JSON object (AMP-004), and what is none is refused with one reason (AMP-001, AMP-002).
func TestDecode_wire(t *testing.T) {
	t.Parallel()
	good := string(sample(t, amp.TaskResult))
	deep := func(n int) string { // n levels, two of them from the envelope and the payload
		return strings.Repeat(`[`, n-2) + strings.Repeat(`]`, n-2)
	}
	for name, c := range map[string]struct {
		data  string
		field string
		says  string
	}{
		"nothing":               {"", "", "is empty"},
		"spaces":                {" \n\t", "", "is empty"},
		"null":                  {"null", "", "is null, expected one JSON object"},
		"array":                 {"[" + good + "]", "", "is an array"},
		"string":                {`"{}"`, "", "is a string"},
		"two objects":           {good + good, "", "after top-level value"},
		"a line after it":       {good + "\nok", "", "line 2, column 1"},
		"a fence around it":     {"```json\n" + good + "\n```", "", "line 1, column 1"},
		"cut off":               {good[:len(good)-40], "type", "unexpected EOF"},
		"line comment":          {"{ // dispatch\n" + good[1:], "", "comment at line 1, column 3"},
		"block comment":         {"{\n\t/* dispatch */" + good[1:], "", "comment at line 2, column 2"},
		"trailing comma":        {good[:len(good)-1] + ",}", "", "invalid character"},
		"single quotes":         {strings.ReplaceAll(good, `"`, `'`), "", "invalid character"},
		"byte order mark":       {"\xef\xbb\xbf" + good, "", "line 1, column 1"},
		"duplicate name":        {string(insert(t, amp.TaskResult, `"from":"admin",`)), "from", "twice"},
		"duplicate in payload":  {strings.Replace(good, `"blockers"`, `x`, 1), "", ""},
		"duplicate, unknown":    {string(insert(t, amp.TaskResult, `"x":{"a":[{"b":1,"b":1}]},`)), "x.a[0].b", "twice"},
		"duplicate, escaped":    {string(insert(t, amp.TaskResult, `"fr\u006fm":"admin",`)), "from", "twice"},
		"invalid UTF-8":         {strings.Replace(good, "Waiting for XCode", "Waiting \xff", 1), "payload.self_assessment.notes[1]", "invalid UTF-8"},
		"invalid UTF-8 name":    {string(insert(t, amp.TaskResult, "\"\xc3\":1,")), "", "invalid UTF-8"},
		"lone surrogate":        {strings.Replace(good, "Waiting for XCode", `\ud800`, 1), "payload.self_assessment.notes[1]", "surrogate"},
		"control character":     {strings.Replace(good, "Waiting for XCode", "Waiting \x01", 1), "payload.self_assessment.notes[1]", "invalid character"},
		"too large":             {good[:len(good)-1] + `,"x":"` + strings.Repeat("a", 1<<20) + `"}`, "", "more than the 1048576"},
		"too deep":              {string(insert(t, amp.TaskResult, `"x":`+deep(66)+`,`)), "", "nested 65 levels deep"},
		"too deep, not closed":  {strings.Repeat(`{"a":`, 100000), "", "nested 100000 levels deep"},
		"too deep, brackets":    {strings.Repeat(`[`, 1<<20), "", "nested 1048576 levels deep"},
		"NaN":                   {strings.Replace(string(sample(t, amp.ReviewVerdict)), "0.95", "NaN", 1), "payload", ""},
		"a number with a plus":  {strings.Replace(good, `:68`, `:+68`, 1), "payload", ""},
		"a number with a zero":  {strings.Replace(good, `:68`, `:068`, 1), "payload", ""},
		"an unpaired backslash": {`{"msg_id":"\`, "", ""},
	} {
		if name == "duplicate in payload" {
			c.data = strings.Replace(good, `"commit_hash":`, `"commit_hash":"x","commit_hash":`, 1)
			c.field, c.says = "payload.commit_hash", "twice"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, decode := range []func([]byte) (*amp.Message, []amp.Problem, error){amp.Decode, amp.DecodeStrict} {
				m, _, err := decode([]byte(c.data))
				got := problems(t, err)
				if m != nil || len(got) != 1 || got[0].Rule != "AMP-004" || !strings.Contains(got[0].Message, c.says) {
					t.Fatalf("AMP-004: got %v, want one problem that says %q", got, c.says)
				}
				if c.says != "" && c.field != "type" && got[0].Field != c.field {
					t.Errorf("field = %q, want %q", got[0].Field, c.field)
				}
			}
		})
	}
}

// TestDecode_limits: exactly 1 MiB and exactly 64 levels are taken.
func TestDecode_limits(t *testing.T) {
	t.Parallel()
	data := sample(t, amp.TaskResult)
	fill := amp.MaxMessage - len(data) - len(`,"x":""`)
	full := append(bytes.TrimSuffix(data, []byte("}")), (`,"x":"` + strings.Repeat("a", fill) + `"}`)...)
	if len(full) != amp.MaxMessage {
		t.Fatalf("the test built %d bytes", len(full))
	}
	if _, warnings, err := amp.Decode(full); err != nil || len(warnings) != 1 {
		t.Errorf("1 MiB: %v, %v", warnings, err)
	}
	if _, _, err := amp.Decode(append(full, ' ')); err == nil || problems(t, err)[0].Rule != "AMP-004" {
		t.Errorf("1 MiB and a byte: %v", err)
	}
	deep := insert(t, amp.TaskResult, `"x":`+strings.Repeat(`[`, 63)+strings.Repeat(`]`, 63)+`,`)
	if _, _, err := amp.Decode(deep); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	brackets := insert(t, amp.TaskResult, `"x":"`+strings.Repeat(`[{\"`, 1000)+`",`) // brackets in a string are no depth
	if _, _, err := amp.Decode(brackets); err != nil {
		t.Errorf("brackets in a string: %v", err)
	}
}

// TestDecode_typeLast: the order of members is free, although the payload can then be read only at the end.
func TestDecode_typeLast(t *testing.T) {
	t.Parallel()
	for _, typ := range types {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(sample(t, typ), &m); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.WriteString(`{"payload":` + string(m["payload"]))
		for name, v := range m {
			if name != "payload" && name != "type" {
				b.WriteString(`,"` + name + `":` + string(v))
			}
		}
		b.WriteString(`,"type":"` + string(typ) + `"}`)
		got, _, err := amp.Decode([]byte(b.String()))
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		want, _, err := amp.Decode(sample(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		if diff := diff(want, got); diff != "" {
			t.Errorf("%s with its type at the end (-want +got):\n%s", typ, diff)
		}
	}
}

// TestDecode_manyProblems: a message of a million faults is refused with a list that a person and a journal can hold.
func TestDecode_manyProblems(t *testing.T) {
	t.Parallel()
	data := insert(t, amp.TaskResult, `"context_ref":[`+strings.Repeat(`1,`, 200000)+`1],`)
	_, _, err := amp.Decode(data)
	if got := problems(t, err); len(got) != 100 {
		t.Errorf("%d problems, want the first 100", len(got))
	}
	if got := err.Error(); !strings.Contains(got, "context_ref[0]: is a number, expected a string (AMP-028)") || !strings.HasSuffix(got, "and 97 more") {
		t.Errorf("Error() = %s", got)
	}
}

// TestDecode_keepsNothing: the message does not change when the caller uses the bytes again.
func TestDecode_keepsNothing(t *testing.T) {
	t.Parallel()
	data := sample(t, amp.TaskDispatch, `context_ref = ["a"]`)
	m, _, err := amp.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := amp.Decode(bytes.Clone(data))
	for i := range data {
		data[i] = 'x'
	}
	if diff := diff(want, m); diff != "" {
		t.Errorf("the message changed with the bytes (-want +got):\n%s", diff)
	}
}

func TestEncode_refuses(t *testing.T) {
	t.Parallel()
	_, err := amp.Encode(nil)
	if got := problems(t, err); got[0].Rule != "AMP-010" {
		t.Errorf("Encode(nil): %v", got)
	}
	for name, change := range map[string]func(*amp.Message){
		"AMP-030 no payload":          func(m *amp.Message) { m.Payload = nil },
		"AMP-030 another payload":     func(m *amp.Message) { m.Payload = &amp.Request{} },
		"AMP-030 a nil payload":       func(m *amp.Message) { m.Payload = (*amp.Result)(nil) },
		"AMP-004 over a MiB":          func(m *amp.Message) { m.Payload.(*amp.Result).CommitHash = strings.Repeat("a", 1<<20) },
		"AMP-027 a negative timeout":  func(m *amp.Message) { m.AckTimeoutSec = -1 },
		"AMP-074 an unknown status":   func(m *amp.Message) { m.Payload.(*amp.Result).CompletionStatus = "" },
		"AMP-022 a time without zone": func(m *amp.Message) { m.Timestamp = "2026-02-26T14:32:07" },
	} {
		m, _, err := amp.Decode(sample(t, amp.TaskResult))
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		out, err := amp.Encode(m)
		if got := problems(t, err); out != nil || len(got) != 1 || got[0].Rule != name[:7] {
			t.Errorf("%s: Encode = %s, %v", name, out, got)
		}
	}
	m, _, err := amp.Decode(sample(t, amp.TaskDispatch))
	if err != nil {
		t.Fatal(err)
	}
	var v any = 1
	for range 70 {
		v = []any{v}
	}
	m.Payload.(*amp.Dispatch).TechConstraints = map[string]any{"deep": v}
	if _, err := amp.Encode(m); err == nil || problems(t, err)[0].Rule != "AMP-004" {
		t.Errorf("Encode of 70 levels: %v", err)
	}
	m.Payload.(*amp.Dispatch).TechConstraints = map[string]any{"f": func() {}}
	if _, err := amp.Encode(m); err == nil || problems(t, err)[0].Rule != "AMP-004" {
		t.Errorf("Encode of a function: %v", err)
	}
}

// TestEncode_order: the members stand in the order of the specification, and equal messages give equal bytes.
func TestEncode_order(t *testing.T) {
	t.Parallel()
	m, _, err := amp.Decode(sample(t, amp.TaskDispatch, `ack_timeout_sec = 300`, `context_ref = ["a"]`))
	if err != nil {
		t.Fatal(err)
	}
	first, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, name := range []string{
		"msg_id", "protocol_version", "type", "from", "to", "task_id", "timestamp", "requires_ack",
		"ack_timeout_sec", "context_ref", "payload", "repo", "branch", "subtasks", "acceptance_criteria", "risk_level",
	} {
		i := bytes.Index(first, []byte(`"`+name+`":`))
		if i <= last {
			t.Errorf("%s stands at %d, after %d", name, i, last)
		}
		last = i
	}
	for range 20 {
		if again, err := amp.Encode(m); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("Encode gave other bytes: %v", err)
		}
	}
}

// TestEncode_notUTF8: the output of a program in a description must not stop an escalation (AMP-175).
func TestEncode_notUTF8(t *testing.T) {
	t.Parallel()
	m, _, err := amp.Decode(sample(t, amp.EscalationMsg))
	if err != nil {
		t.Fatal(err)
	}
	m.Payload.(*amp.Escalation).Description = "git said: \xff\xfe"
	out, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := amp.DecodeStrict(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Payload.(*amp.Escalation).Description; got != "git said: \ufffd\ufffd" {
		t.Errorf("description = %q", got)
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	type body struct {
		Text string `json:"text"`
		N    int    `json:"n,omitzero"`
	}
	data := amp.EncodeBody(map[string]any{"text": "a\xffb", "newer_name": map[string]any{"z": 1, "a": 2}})
	if want := `{"newer_name":{"a":2,"z":1},"text":"a` + "\ufffd" + `b"}`; string(data) != want {
		t.Errorf("EncodeBody = %s, want %s", data, want)
	}
	got, err := amp.DecodeBody[body](&amp.Entry{Record: amp.Record{Body: data}})
	if err != nil || got.Text != "a\ufffdb" {
		t.Errorf("DecodeBody = %v, %v", got, err)
	}
	for _, bad := range []string{"", "null", "[]", `"x"`, `{"text":1}`, `{"text":"a","text":"b"}`, `{} {}`, "{\"text\":\"\xff\"}"} {
		if got, err := amp.DecodeBody[body](&amp.Entry{Record: amp.Record{Body: []byte(bad)}}); err == nil {
			t.Errorf("DecodeBody(%s) = %v, want an error", bad, got)
		}
	}
}

// TestOneDoor: one file of the package imports the JSON module, so that changing the engine is changing one file. No struct has a
// tag that the module and the standard library read differently.
func TestOneDoor(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src := string(readFile(t, f.Name()))
		if f.Name() != "door.go" && (strings.Contains(src, `"github.com/go-json-experiment/`) || strings.Contains(src, `"encoding/json`)) {
			t.Errorf("%s imports a JSON package; only door.go does", f.Name())
		}
		for _, tag := range []string{",inline", ",unknown", ",embed"} {
			if strings.Contains(src, tag) {
				t.Errorf("%s has a tag %s", f.Name(), tag)
			}
		}
	}
}
