package sacp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func answer(t *testing.T, text string) Answer {
	t.Helper()
	a, problems, _ := Decode([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return a
}

// TestPrompt_SACP_015_SACP_016_SACP_017_SACP_018_SACP_019_P08: the prompt that asks for an answer.
func TestPrompt_SACP_015_SACP_016_SACP_017_SACP_018_SACP_019_P08(t *testing.T) {
	t.Parallel()
	p := Prompt("You find e-mail addresses. Data has valid_email.\n")
	base, rest, ok := strings.Cut(p, "### SYSTEM PROTOCOL: RESPONSE FORMAT INSTRUCTIONS")
	if !ok || base != "You find e-mail addresses. Data has valid_email.\n\n" || !strings.Contains(rest, "valid JSON format") {
		t.Errorf("prompt:\n%s", p)
	}
	if Prompt(p) != p || Prompt("") != Template {
		t.Error("the template is appended twice, or not at all")
	}
	_, example, _ := strings.Cut(Template, "Example:\n")
	if a, problems, _ := Decode([]byte(example)); len(problems) > 0 || a.Message != "The result is 10." {
		t.Errorf("the example is no valid answer: %v", problems)
	}
	for _, f := range []Flags{{ResponseFormat: "json_standard"}, {UseStandardProtocol: true}, {UseStandardResponseFormat: true}} {
		if !f.On() {
			t.Errorf("%+v is not on", f)
		}
	}
	if (Flags{ResponseFormat: "json"}).On() || (Flags{}).On() {
		t.Error("the flag is on without being asked for")
	}
}

// TestTemplate_verbatim: the template is the one of the specification, where that is at hand.
func TestTemplate_verbatim(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile(filepath.Join("testdata", "sacp-template.md"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(spec)) != Template {
		t.Error("the template differs from the specification's")
	}
}

// TestRoute_SACP_005_SACP_006_SACP_007_SACP_008_SACP_020_P02_P09: what each status leads to.
func TestRoute_SACP_005_SACP_006_SACP_007_SACP_008_SACP_020_P02_P09(t *testing.T) {
	t.Parallel()
	high := Edge{mustCondition(t, "response.data.score > 0.8"), "D"}
	odd := Edge{Rule{Path: "response.status", Op: "matches"}, "X"}
	for name, tc := range map[string]struct {
		status, data string
		edges        Edges
		move         Move
		node         string
		fails        bool
	}{
		"SACP-006 success":            {"success", `{}`, Edges{Next: "B"}, Go, "B", false},
		"success without successor":   {"success", `{}`, Edges{}, End, "", false},
		"P02 completed":               {"completed", `{}`, Edges{Next: "B"}, End, "", false},
		"SACP-007 failure":            {"failure", `{}`, Edges{Next: "B", Error: "C"}, Go, "C", false},
		"P09 failure stops":           {"failure", `{}`, Edges{Next: "B"}, Stop, "", false},
		"SACP-008 clarification":      {"clarification_needed", `{"score":0.9}`, Edges{When: []Edge{high}, Next: "B", Error: "C"}, Pause, "", false},
		"SACP-020 condition":          {"success", `{"score":0.9}`, Edges{When: []Edge{high}, Next: "B"}, Go, "D", false},
		"SACP-020 condition is false": {"success", `{"score":0.8}`, Edges{When: []Edge{high}, Next: "B"}, Go, "B", false},
		"P06 unknown form":            {"success", `{}`, Edges{When: []Edge{odd}, Next: "B"}, Stop, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := answer(t, `{"thought":"","status":"`+tc.status+`","data":`+tc.data+`,"message":""}`)
			move, node, err := Route(a, tc.edges)
			if move != tc.move || node != tc.node || (err != nil) != tc.fails {
				t.Errorf("%s %q, %v; want %s %q", move, node, err, tc.move, tc.node)
			}
		})
	}
}

func mustCondition(t *testing.T, text string) Rule {
	t.Helper()
	r, err := ParseCondition(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCondition_SACP_020_SACP_022_P06_P10: both forms of a condition, and how values compare.
func TestCondition_SACP_020_SACP_022_P06_P10(t *testing.T) {
	t.Parallel()
	a := answer(t, `{"thought":"secret","status":"success","message":"it is done","extra":{"k":true},"data":{
		"score":0.9,"one":1.0,"big":10000000000000000000001,"name":"Ada","list":[1,"two",{"three":3}],"object":{"b":2,"a":1},"yes":true,"none":null,"a.b":5,
		"items":[{"id":7},{"id":8}]}}`)
	for text, want := range map[string]bool{
		`response.status == "success"`: true, `response.status == "failure"`: false, `response.status != "failure"`: true,
		`response.data.score > 0.8`: true, `data.score>=0.9`: true, `data.score < 0.9`: false, `data.score <= 0.9`: true,
		`data.one == 1`: true, `data.one == 1.000`: true, `data.one == "1"`: false, `data.yes == "true"`: false, `data.yes == true`: true,
		`data.big == 10000000000000000000000`: false, `data.big > 10000000000000000000000`: true,
		`data.none == null`: true, `data.missing == null`: false, `data.missing != 1`: true, `data.missing exists`: false, `data.none exists`: true,
		`data.items[1].id == 8`: true, `data.items.0.id == 7`: true, `data.items[2].id exists`: false, `data["a.b"] == 5`: true,
		`data.object == {"a":1,"b":2}`: true, `data.list == [1,"two",{"three":3}]`: true, `data.list == ["two",1,{"three":3}]`: false,
		`message contains "done"`: true, `data.list contains "two"`: true, `data.object contains "b"`: true, `data.list contains 2`: false,
		`data.name > "Aaron"`: true, `extra.k == true`: true, `thought exists`: false,
	} {
		r, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := r.Holds(a); got != want || err != nil {
			t.Errorf("%s = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "response.status", `response.status = "x"`, `response.status ~ "x"`, `data..x == 1`, `data.x == yes`, `data.[0 == 1`, `data[x] == 1`,
		`== 1`, `data.x == `, `drop table`,
	} {
		if r, err := ParseCondition(text); err == nil {
			t.Errorf("%q is accepted as %+v", text, r)
		}
	}
	for name, tc := range map[string]struct {
		rule  Rule
		want  bool
		fails bool
	}{
		"and":              {Rule{Join: "AND", Rules: []Rule{mustCondition(t, "data.score > 0.8"), mustCondition(t, `data.name == "Ada"`)}}, true, false},
		"and, one false":   {Rule{Join: "AND", Rules: []Rule{mustCondition(t, "data.score > 0.8"), mustCondition(t, `data.name == "Bob"`)}}, false, false},
		"or":               {Rule{Join: "OR", Rules: []Rule{mustCondition(t, "data.score > 1"), mustCondition(t, `data.name == "Ada"`)}}, true, false},
		"json_contains":    {Rule{Path: "data", Op: "json_contains", Value: []byte(`{"object":{"a":1},"list":[{"three":3}]}`)}, true, false},
		"json_contains no": {Rule{Path: "data", Op: "json_contains", Value: []byte(`{"object":{"a":2}}`)}, false, false},
		"no order":         {Rule{Path: "data.yes", Op: "gt", Value: []byte("1")}, false, true},
		"unknown join":     {Rule{Join: "XOR", Rules: []Rule{{Path: "data.x", Op: "exists"}}}, false, true},
		"joins nothing":    {Rule{Join: "AND"}, false, true},
		"both forms":       {Rule{Join: "AND", Path: "data", Op: "exists", Rules: []Rule{{Path: "data.x", Op: "exists"}}}, false, true},
		"unknown below or": {Rule{Join: "OR", Rules: []Rule{{Path: "data", Op: "exists"}, {Path: "data", Op: "like", Value: []byte("1")}}}, false, true},
		"zero":             {Rule{}, false, true},
		"a huge number":    {Rule{Path: "data.score", Op: "lt", Value: []byte("1e2000000")}, true, false},
	} {
		if got, err := tc.rule.Holds(a); got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s = %v, %v; want %v", name, got, err, tc.want)
		}
	}
}

// TestMap_SACP_012_SACP_021_SACP_023_P07: references to earlier answers.
func TestMap_SACP_012_SACP_021_SACP_023_P07(t *testing.T) {
	t.Parallel()
	n := Nodes{"node_A": answer(t, `{"thought":"hidden","status":"success","message":"I found \"two\"","data":{
		"extracted_names": ["Alice", "Bob"], "deep":{"er":{"est":[{"x":1.50}]}},"n":3}}`)}
	for input, want := range map[string]string{
		"{{node_A.data.extracted_names}}":                         `["Alice","Bob"]`,
		" {{ node_A.data.n }} ":                                   `3`,
		"{{node_A.message}}":                                      `"I found \"two\""`,
		"{{node_A.data.deep.er.est[0].x}}":                        `1.50`,
		"Names: {{node_A.data.extracted_names}}, that is it":      `"Names: [\"Alice\",\"Bob\"], that is it"`,
		"{{node_A.status}}: {{node_A.message}} {{node_A.data.n}}": `"success: I found \"two\" 3"`,
		"nothing to fill { } {{":                                  `"nothing to fill { } {{"`,
	} {
		got, err := n.Map(input)
		if err != nil || string(got) != want {
			t.Errorf("%s = %s, %v; want %s", input, got, err, want)
		}
	}
	for input, says := range map[string]string{
		"{{node_A.thought}}": "SACP-012", "x {{node_A.thought}}": "SACP-012", "{{node_B.data}}": "node_B", "{{node_A.data.none}}": "SACP-021",
		"{{node_A}}": "SACP-021", "{{}}": "SACP-021", "{{node_A.data.extracted_names[2]}}": "SACP-021", "{{node_A.data..n}}": "no name",
	} {
		if got, err := n.Map(input); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s = %s, %v; want an error with %s", input, got, err, says)
		}
	}
	before := string(n["node_A"].Data)
	if _, err := n.Map("{{node_A.data}}"); err != nil || string(n["node_A"].Data) != before {
		t.Error("reading an answer changed it")
	}
}

// TestFlow_SACP_024: the specification's flow, from the researcher to the validator.
func TestFlow_SACP_024(t *testing.T) {
	t.Parallel()
	researcher := Parse([]byte("```json\n" + `{
        "thought": "I found the CEO is John Doe, but no direct email. I will guess standard formats.",
        "status": "success",
        "data": { "ceo_name": "John Doe", "domain": "acme.com", "guesses": ["john.doe@acme.com", "jdoe@acme.com"] },
        "message": "I identified the CEO as John Doe."
    }` + "\n```"))
	move, node, err := Route(researcher.Answer, Edges{Next: "validator"})
	if move != Go || node != "validator" || err != nil {
		t.Fatalf("%s %s, %v", move, node, err)
	}
	input, err := Nodes{"researcher": researcher.Answer}.Map("{{researcher.data.guesses}}")
	if err != nil || string(input) != `["john.doe@acme.com","jdoe@acme.com"]` {
		t.Errorf("the validator gets %s, %v", input, err)
	}
	validator := Parse([]byte(`{"thought":"Pinged servers.","status":"success","data":{"valid_email":"jdoe@acme.com"},"message":"The valid email is jdoe@acme.com"}`))
	if move, _, err := Route(validator.Answer, Edges{}); move != End || err != nil {
		t.Errorf("after the validator: %s, %v", move, err)
	}
}

// TestGuard_SACP_040_SACP_041: redaction keeps the data, a violation forces the status, and each is recorded without the secret.
func TestGuard_SACP_040_SACP_041(t *testing.T) {
	t.Parallel()
	g := Guard{Sensitive: Secrets, Violations: []*regexp.Regexp{regexp.MustCompile(`(?i)force.push`)}}
	const key = "sk-abcdefghijklmnopqrstuvwx"
	for name, tc := range map[string]struct {
		status, data, message string
		wantStatus            Status
		wantMessage           string
		rules                 string
	}{
		"failure with a key":             {"failure", `{"k":"` + key + `"}`, "the key " + key + " was refused", Failure, "the key [redacted] was refused", "SACP-040"},
		"failure, secret by its name":    {"failure", `{"password":"hunter22"}`, "hunter22 is wrong", Failure, "[redacted] is wrong", "SACP-040"},
		"failure, only in the message":   {"failure", `{}`, "https://ada:lovelace@example.org failed", Failure, "[redacted]example.org failed", "SACP-040"},
		"failure without anything":       {"failure", `{"n":1}`, "disk full", Failure, "disk full", ""},
		"success keeps its message":      {"success", `{"k":"` + key + `"}`, "made " + key, Success, "made " + key, ""},
		"violation":                      {"success", `{}`, "I did a force-push", Failure, "I did a force-push", "SACP-041"},
		"violation of a failure":         {"failure", `{}`, "I did a force push", Failure, "I did a force push", ""},
		"violation, then redacted":       {"success", `{}`, "force push with " + key, Failure, "force push with [redacted]", "SACP-041 SACP-040"},
		"violation of a clarification":   {"clarification_needed", `{}`, "shall I force push?", Failure, "shall I force push?", "SACP-041"},
		"violation in data is no reason": {"success", `{"x":"force push"}`, "done", Success, "done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := answer(t, `{"thought":"x","status":"`+tc.status+`","data":`+tc.data+`,"message":"`+tc.message+`"}`)
			got, changes := g.Apply(a)
			if got.Status != tc.wantStatus || got.Message != tc.wantMessage || string(got.Data) != tc.data {
				t.Errorf("%s %q %s", got.Status, got.Message, got.Data)
			}
			var rules []string
			for _, c := range changes {
				rules = append(rules, c.Rule)
				if strings.Contains(c.From+c.To, key) {
					t.Errorf("the secret is in the record: %+v", c)
				}
			}
			if strings.Join(rules, " ") != tc.rules {
				t.Errorf("changes = %+v, want %s", changes, tc.rules)
			}
		})
	}
	if got, changes := (Guard{}).Apply(answer(t, good)); len(changes) > 0 || got.Message != "m" {
		t.Error("the zero guard changes something")
	}
}
