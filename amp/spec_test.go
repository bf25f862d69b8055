package amp_test

import (
	"testing"

	"arbiter/amp"
)

// TestSpecExamples takes the specification's examples as printed (AMP-176). The envelope's payload is a comment: it is a template,
// no message (A29). The affected_msgs and refs of the examples are no strict msg_ids and are taken (A04); null stands in both
// boolean lists (A11).
func TestSpecExamples(t *testing.T) {
	t.Parallel()
	for _, typ := range types {
		t.Run("AMP-176 "+string(typ), func(t *testing.T) {
			t.Parallel()
			data := sample(t, typ)
			m, warnings, err := amp.DecodeStrict(data)
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings: %v", warnings)
			}
			agree(t, data)
			roundTrip(t, m)
		})
	}
	t.Run("A29 the envelope is a template", func(t *testing.T) {
		t.Parallel()
		_, _, err := amp.Decode(specExample(t, "envelope"))
		for _, p := range problems(t, err) {
			if p.Field != "payload" && p.Field[:8] != "payload." {
				t.Errorf("the envelope itself has a problem: %v", p)
			}
		}
		root := parse(t, specExample(t, "envelope")).(map[string]any)
		root["payload"] = parse(t, specExample(t, "task_dispatch"))
		if data := marshal(t, root); len(data) > 0 {
			if _, _, err := amp.DecodeStrict(data); err != nil {
				t.Errorf("the template with a payload: %v", err)
			}
		}
	})
	t.Run("AMP-004 comments are not legal on the wire", func(t *testing.T) {
		t.Parallel()
		raw := readFile(t, "testdata/spec/envelope.jsonc")
		_, _, err := amp.Decode(raw)
		got := problems(t, err)
		if len(got) != 1 || got[0].Rule != "AMP-004" || got[0].Message != "holds a comment at line 1, column 1; comments are not allowed on the wire" {
			t.Errorf("problems = %v", got)
		}
	})
}
