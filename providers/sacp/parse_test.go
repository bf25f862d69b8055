package sacp

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const good = `{"thought":"t","status":"success","data":{"n":1},"message":"m"}`

// TestParse_SACP_027_SACP_028_SACP_029_SACP_030_P05 has what models write around, instead of and inside an answer.
func TestParse_SACP_027_SACP_028_SACP_029_SACP_030_P05(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw   string
		stage Stage
		// message of the answer that is found
		message string
	}{
		"whole":                        {good, Whole, "m"},
		"white space around":           {"\n\t " + good + "\r\n", Whole, "m"},
		"P05 a fence in the message":   {`{"thought":"t","status":"success","data":{},"message":"use\n` + "```json\\n{}\\n```" + `"}`, Whole, "use\n```json\n{}\n```"},
		"SACP-027 fence":               {"Here you are:\n```json\n" + good + "\n```\nAnything else?", Fence, "m"},
		"SACP-027 fence, no language":  {"```\n" + good + "\n```", Fence, "m"},
		"SACP-027 fence on one line":   {"```json" + good + "```", Fence, "m"},
		"the second fence is it":       {"```go\nfunc main() {}\n```\n```json\n" + good + "\n```", Fence, "m"},
		"SACP-028 filler around":       {"Sure! " + good + " Hope that helps.", Braces, "m"},
		"SACP-029 other signs around":  {"\ufeff>>> " + good + ";", Braces, "m"},
		"SACP-030 braces before it":    {"the set {a, b} gives " + good + " and {c}", Balanced, "m"},
		"SACP-030 inside an object":    {`{"answer":` + good + `}`, Balanced, "m"},
		"the first valid one":          {`{"x":1} ` + good + ` ` + strings.Replace(good, `"m"`, `"second"`, 1), Balanced, "m"},
		"a fence that is never closed": {"```json\n" + good, Braces, "m"},
		"completed P02":                {strings.Replace(good, "success", "completed", 1), Whole, "m"},
		"unknown property SACP-014":    {strings.Replace(good, `"message"`, `"mood":"fine","message"`, 1), Whole, "m"},
		"P12 bytes are kept":           {strings.Replace(good, `"m"`, `"15Â°C"`, 1), Whole, "15Â°C"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Parse([]byte(tc.raw))
			if p.Stage != tc.stage || p.Answer.Message != tc.message || len(p.Problems) > 0 {
				t.Errorf("stage = %s, want %s; message = %q, want %q; problems = %v", p.Stage, tc.stage, p.Answer.Message, tc.message, p.Problems)
			}
			if p.Answer.IsWrapper() {
				t.Error("an answer that was found is taken for the wrapper")
			}
		})
	}
}

// TestParse_wrap_SACP_031_SACP_032_P03_P04_P11: what holds no answer is wrapped in exactly the object of the specification.
func TestParse_wrap_SACP_031_SACP_032_P03_P04_P11(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw string
		// rules of the problems, in order; errs says that validation_errors are in data
		rules string
		errs  bool
	}{
		"prose":                          {"I could not do it.", "SACP-001", false},
		"empty":                          {"", "SACP-001", false},
		"cut off":                        {good[:40], "SACP-001", false},
		"not an object":                  {`[1,2]`, "SACP-001", true},
		"a string":                       {`"done"`, "SACP-001", true},
		"SACP-002 nothing in it":         {`{}`, "SACP-002 SACP-002 SACP-002 SACP-002", true},
		"SACP-002 no thought":            {`{"status":"success","data":{},"message":"m"}`, "SACP-002", true},
		"SACP-003 thought is a list":     {`{"thought":[],"status":"success","data":{},"message":"m"}`, "SACP-003", true},
		"SACP-004 other status":          {`{"thought":"","status":"done","data":{},"message":"m"}`, "SACP-004", true},
		"SACP-004 in capitals":           {`{"thought":"","status":"SUCCESS","data":{},"message":"m"}`, "SACP-004", true},
		"P01 needs_input":                {`{"thought":"","status":"needs_input","data":{},"message":"m"}`, "SACP-004", true},
		"SACP-060 the roadmap's status":  {`{"thought":"","status":"retry_with_instruction","data":{},"message":"m"}`, "SACP-004", true},
		"SACP-009 data is a list":        {`{"thought":"","status":"success","data":[1],"message":"m"}`, "SACP-009", true},
		"SACP-009 data is null":          {`{"thought":"","status":"success","data":null,"message":"m"}`, "SACP-009", true},
		"SACP-011 message is a number":   {`{"thought":"","status":"success","data":{},"message":4}`, "SACP-011", true},
		"SACP-013 the hint is an object": {`{"thought":"","status":"success","data":{},"message":"m","next_step_hint":{}}`, "SACP-013", true},
		"a name twice":                   {`{"thought":"","thought":"x","status":"success","data":{},"message":"m"}`, "SACP-001", false},
		"names in another case":          {`{"Thought":"","Status":"success","Data":{},"Message":"m"}`, "SACP-002 SACP-002 SACP-002 SACP-002", true},
		"invalid UTF-8":                  {"\xff\xfe{", "SACP-001", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Parse([]byte(tc.raw))
			var rules []string
			for _, pr := range p.Problems {
				rules = append(rules, pr.Rule)
			}
			if got := strings.Join(rules, " "); got != tc.rules || p.Stage != Wrapped {
				t.Errorf("rules = %q, want %q; stage = %s", got, tc.rules, p.Stage)
			}
			a := p.Answer
			if a.Thought != "System Note: LLM failed to provide structured JSON output." || a.Status != "failure" ||
				a.Message != "The LLM returned an invalid response format." || !a.IsWrapper() {
				t.Errorf("the fallback object is %+v", a)
			}
			data := members(a.Data)
			if raw := str(data["raw_output"]); raw != strings.ToValidUTF8(tc.raw, "\uFFFD") {
				t.Errorf("raw_output = %q", raw)
			}
			if b, has := data["raw_base64"]; has && str(b) != base64.StdEncoding.EncodeToString([]byte(tc.raw)) {
				t.Errorf("raw_base64 = %s", b)
			}
			if _, has := data["validation_errors"]; has != tc.errs {
				t.Errorf("validation_errors: %v, want %v in %s", has, tc.errs, a.Data)
			}
			b, err := a.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if again := Parse(b); again.Stage != Whole || !again.Answer.IsWrapper() {
				t.Errorf("the fallback object is no valid answer: %+v", again.Problems)
			}
			if name == "P01 needs_input" && !strings.Contains(p.Problems[0].Message, "clarification_needed") {
				t.Errorf("no hint at the right word: %s", p.Problems[0].Message)
			}
		})
	}
}

// TestDecode_SACP_014: what is not known is kept byte for byte, and said.
func TestDecode_SACP_014(t *testing.T) {
	t.Parallel()
	a, problems, warnings := Decode([]byte(`{"thought":"","status":"success","data":{"big":123456789012345678901234567890},"message":"","mood":{"a": 1}}`))
	if len(problems) > 0 || len(warnings) != 1 || warnings[0].Rule != "SACP-014" || warnings[0].Field != "mood" {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	b, err := a.Encode()
	if err != nil || string(b) != `{"thought":"","status":"success","data":{"big":123456789012345678901234567890},"message":"","mood":{"a":1}}` {
		t.Errorf("%s, %v", b, err)
	}
}

// TestParse_hostile: what is read of a hostile text grows with its length, not with its square.
func TestParse_hostile(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"{", `{"a":`, `{"a":[`, "```json\n{", `{"x":"`, "{ ", `{"a":{},`} {
		text := []byte(strings.Repeat(part, 5_000) + "}")
		spent := 0
		for range objects(text, &spent) {
		}
		if most := (searchFactor + 2) * (len(text) + 1024); spent > most {
			t.Errorf("%q: %d bytes were read of %d", part, spent, len(text))
		}
		if p := Parse(text); p.Stage != Wrapped {
			t.Errorf("an answer was found in %q…", part)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{good, "```json\n" + good + "\n```", "a {b} " + good, "{", `{"a":{"b":`, "\xff", good + good} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := Parse(raw)
		switch p.Answer.Status {
		case Success, Failure, Clarification, Completed:
		default:
			t.Fatalf("status = %q", p.Answer.Status)
		}
		if (p.Stage == Wrapped) != (len(p.Problems) > 0) {
			t.Fatalf("stage %s with problems %v", p.Stage, p.Problems)
		}
		b, err := p.Answer.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again := Parse(b)
		if again.Stage != Whole || again.Answer.Message != p.Answer.Message || !equal(again.Answer.Data, p.Answer.Data) {
			t.Fatalf("not the same when read again: %s", b)
		}
		if !jsontext.Value(b).IsValid() {
			t.Fatalf("no JSON: %s", b)
		}
	})
}
