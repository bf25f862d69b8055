package sentient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
)

// TestSession_rules: what only the messages before tell.
func TestSession_rules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change change
		errs   string // the rules of the errors, in order
		warns  string
		fixes  string // the rules of the repairs
	}{
		"SEN-053 SEN-052 nothing changed":                  {nil, "", "", ""},
		"SEN-003 S11 an id of another message":             {change{"message_id": "msg-obj-20260127-143052-001"}, "SEN-003", "", ""},
		"SEN-053 the input was altered":                    {change{"input.content": []string{"Obtain it"}}, "SEN-053", "", ""},
		"SEN-053 the input is left out":                    {change{"input.content": nil}, "", "", ""},
		"SEN-053 the input as text":                        {change{"input.content": `["Obtain video content from src_1 and store as store_1", "From store_1 (acquired from src_1), analyze speaker sentiment through multi-modal analysis"]`}, "", "", ""},
		"SEN-053 an objective was altered":                 {change{"output.content.objective_1.objective": "Obtain it"}, "SEN-053", "", ""},
		"SEN-054 SEN-062 a gap":                            {change{"metadata.sequence_number": 3}, "SEN-054 SEN-062", "SEN-051", ""},
		"SEN-054 the first again":                          {change{"metadata.sequence_number": 1}, "SEN-028 SEN-054 SEN-062", "SEN-051", ""},
		"SEN-058 another agent":                            {change{"agent.name": "poet"}, "", "SEN-058", ""},
		"SEN-011 another source":                           {change{"input.source": "user"}, "", "SEN-011", ""},
		"SEN-060 SEN-066 request overwritten":              {change{"metadata.request_id": "mine"}, "", "", "SEN-060"},
		"SEN-060 SEN-026 an empty request is overwritten":  {change{"metadata.request_id": ""}, "", "", "SEN-060"},
		"SEN-061 SEN-066 session overwritten":              {change{"metadata.session_id": nil}, "", "", "SEN-061"},
		"SEN-063 S04 an invented parent":                   {change{"metadata.parent_message_id": "msg-0"}, "", "", "S04"},
		"SEN-028 S04 no parent":                            {change{"metadata.parent_message_id": nil}, "", "", "S04"},
		"SEN-063 S04 an invented parent of another agent":  {change{"metadata.parent_message_id": "msg-0", "agent.name": "poet"}, "SEN-063", "", ""},
		"S04 all three":                                    {change{"metadata.parent_message_id": "", "metadata.session_id": "x", "metadata.request_id": "y"}, "", "", "S04 SEN-060 SEN-061"},
		"SEN-065 a ref was dropped":                        {change{"resources.source_refs": []any{}}, "SEN-065", "", ""},
		"SEN-065 SEN-037 a ref was renamed":                {change{"resources.source_refs.0.ref_id": "src_2"}, "SEN-065", "SEN-037", ""},
		"SEN-034 a ref was assigned anew":                  {change{"resources.source_refs.0.url": "https://example.org"}, "SEN-034", "", ""},
		"SEN-034 a uri is filled in later":                 {change{"resources.storage_refs.0.storage_uri": "s3://x", "resources.storage_refs.0.status": "stored"}, "", "", ""},
		"SEN-037 a ref of the goal agent":                  {change{"resources.source_refs.1": nil}, "SEN-031", "", ""},
		"SEN-032 a broken ref is not said to be gone":      {change{"resources.storage_refs.0.media_type": 1}, "SEN-032", "", ""},
		"SEN-005 SEN-060 unknown is kept beside a repair":  {change{"metadata.mood": "fine", "metadata.request_id": "mine"}, "", "SEN-005", "SEN-060"},
		"SEN-017 SEN-060 an error holds, repaired or not":  {change{"status.code": "done", "metadata.request_id": "mine"}, "SEN-017", "", "SEN-060"},
		"SEN-002 a request that is missing is no repair":   {change{"metadata.request_id": gone}, "SEN-002", "", "SEN-060"},
		"SEN-063 a parent of a wrong type is not repaired": {change{"metadata.parent_message_id": 4}, "SEN-028", "", "S04"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Session
			if first := s.Judge(sample(t, "objective")); first.Held() {
				t.Fatal(first.Errors)
			}
			if name == "SEN-037 a ref of the goal agent" {
				tc.change, tc.errs, tc.warns = change{"resources.source_refs": []any{json.RawMessage(sourceOf(t)), source("src_2", "b")}}, "", "SEN-037"
			}
			data := changed(t, "goal", tc.change)
			j := s.Judge(data)
			var fixes []string
			for _, r := range j.Repairs {
				fixes = append(fixes, r.Rule)
			}
			if got := rulesOf(j.Errors); got != tc.errs {
				t.Errorf("errors %v, want %q", j.Errors, tc.errs)
			}
			if got := rulesOf(j.Warnings); got != tc.warns {
				t.Errorf("warnings %v, want %q", j.Warnings, tc.warns)
			}
			if got := strings.Join(fixes, " "); got != tc.fixes {
				t.Errorf("repairs %v, want %q", j.Repairs, tc.fixes)
			}
			if j.Held() != (tc.errs != "") {
				t.Errorf("held = %v", j.Held())
			}
		})
	}
}

func sourceOf(t *testing.T) string {
	t.Helper()
	var m struct {
		Resources struct {
			Sources []json.RawMessage `json:"source_refs"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(sample(t, "goal"), &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Resources.Sources[0])
}

func rulesOf(problems []amp.Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Rule)
	}
	return strings.Join(out, " ")
}

// TestSession_S03_SEN_067: the copy differs from what was received in the overwritten fields alone, and these are recorded; the parent is the
// message that is named, not the last one.
func TestSession_S03_SEN_067(t *testing.T) {
	t.Parallel()
	var s Session
	s.Judge(sample(t, "objective"))
	raw := strings.Replace(string(sample(t, "goal")), `"request_id": "req-20260127-143050"`, `"request_id" :  "r\u0065q-mine" , "strange":	[1.50, 1e3]`, 1)
	j := s.Judge([]byte(raw))
	want := strings.TrimSpace(strings.Replace(raw, `"r\u0065q-mine"`, `"req-20260127-143050"`, 1))
	if diff := cmp.Diff(want, string(j.Copy)); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if len(j.Repairs) != 1 || string(j.Repairs[0].From) != `"req-mine"` || string(j.Repairs[0].To) != `"req-20260127-143050"` || j.Repairs[0].Field != "metadata.request_id" {
		t.Errorf("repairs = %v", j.Repairs)
	}
	if last := s.Messages()[1]; last.RequestID != "req-20260127-143050" {
		t.Errorf("the session goes on with %q", last.RequestID)
	}
	if again := s.Judge(j.Copy); rulesOf(again.Errors) != "SEN-003 SEN-054" {
		t.Errorf("the same again: %v", again.Errors)
	}
}

// TestSession_begin: a session begins with its first message.
func TestSession_begin_SEN_054_SEN_063(t *testing.T) {
	t.Parallel()
	var s Session
	if j := s.Judge(sample(t, "goal")); rulesOf(j.Errors) != "SEN-054 SEN-063" {
		t.Errorf("errors = %v", j.Errors)
	}
	var ended Session
	ended.Judge(sample(t, "out_of_scope"))
	j := ended.Judge(changed(t, "goal", change{"metadata.parent_message_id": "msg-obj-20260127-150012-001", "input.content": nil, "resources.source_refs": []any{}, "resources.storage_refs": []any{}}))
	if rulesOf(j.Errors) != "" || !strings.Contains(rulesOf(j.Warnings), "SEN-058") {
		t.Errorf("after the end: %v, %v", j.Errors, j.Warnings)
	}
}

// TestSession_SEN_076: what is implemented is version 1.6.0: a model that makes its own request_id is corrected, not held.
func TestSession_SEN_076(t *testing.T) {
	t.Parallel()
	var s Session
	s.Judge(sample(t, "objective"))
	if j := s.Judge(changed(t, "goal", change{"metadata.request_id": "req-of-its-own"})); j.Held() || len(j.Repairs) != 1 {
		t.Errorf("%+v", j.Report)
	}
}

// TestMutation: every field that is left out, and every value that becomes another type, is found.
func TestMutation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"objective", "goal", "out_of_scope"} {
		var root map[string]any
		if err := json.Unmarshal(sample(t, name), &root); err != nil {
			t.Fatal(err)
		}
		n := 0
		var walk func(path []string, v any)
		walk = func(path []string, v any) {
			if len(path) > 0 {
				p := strings.Join(path, ".")
				if strings.HasPrefix(p, "output.content.") || strings.HasPrefix(p, "input.content.") {
					return // free
				}
				n++
				if _, got := Decode(changed(t, name, change{p: gone})); len(got.Errors) == 0 {
					t.Errorf("%s without %s passes", name, p)
				}
				if p != "output.content" && p != "input.content" {
					if _, got := Decode(changed(t, name, change{p: map[string]any{"x": 1}})); len(got.Errors) == 0 {
						t.Errorf("%s with an object as %s passes", name, p)
					}
				}
			}
			if m, ok := v.(map[string]any); ok {
				for key, x := range m {
					walk(append(append([]string(nil), path...), key), x)
				}
			}
		}
		walk(nil, root)
		if n < 35 {
			t.Errorf("only %d fields of %s were tried", n, name)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{`{}`, `{"message_id":"{{x}}"}`, `{"resources":{"source_refs":[{"ref_id":"src_1"}]}}`, `{"metadata":{"sequence_number":2}}`, "\xff", `[`, `{"output":{"content":{"objective_1":{"goals":["store_1"]}},"content_type":"goals"}}`} {
		f.Add([]byte(s))
	}
	objective := sampleOf(f, "objective")
	f.Add(objective)
	f.Add(sampleOf(f, "goal"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, report := Decode(data)
		if m == nil && len(report.Errors) == 0 {
			t.Fatal("nothing was read, and nothing said")
		}
		var s Session
		s.Judge(objective)
		j := s.Judge(data)
		if j.Message == nil {
			return
		}
		m.Time()
		again, _ := Decode(j.Copy)
		if again == nil {
			t.Fatalf("the copy cannot be read: %s", j.Copy)
		}
		if !j.Held() && (again.RequestID != j.Message.RequestID || again.SessionID != j.Message.SessionID || again.ID != m.ID) {
			t.Fatalf("the copy is another message: %s", j.Copy)
		}
	})
}
