package sentient

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gone stands for a field that is left out.
const gone = "\x00gone"

// changed is a sample with other values; paths name members and elements: "resources.source_refs.0.url".
func changed(t *testing.T, name string, change map[string]any) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(sample(t, name), &root); err != nil {
		t.Fatal(err)
	}
	for path, value := range change {
		set(t, root, strings.Split(path, "."), value)
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(t *testing.T, at any, path []string, value any) {
	t.Helper()
	last := len(path) == 1
	switch at := at.(type) {
	case map[string]any:
		switch {
		case last && value == gone:
			delete(at, path[0])
		case last:
			at[path[0]] = value
		default:
			set(t, at[path[0]], path[1:], value)
		}
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(at) {
			t.Fatalf("no element %s", path[0])
		}
		if last {
			at[i] = value
			return
		}
		set(t, at[i], path[1:], value)
	default:
		t.Fatalf("nothing at %v", path)
	}
}

type change = map[string]any

// source and stored are refs for the tests.
func source(id, url string) change {
	return change{"ref_id": id, "url": url, "platform": "web", "media_type": "video", "provided_by": "user", "extracted_at_sequence": 1}
}

func derived(id string) change {
	return change{"ref_id": id, "parent_ref_id": "store_1", "storage_uri": nil, "asset_type": "audio_track", "capability_id": "CAP-1", "created_at_sequence": nil, "status": "pending"}
}

// TestDecode_rules: each sample breaks one rule and nothing else.
func TestDecode_rules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sample string
		change change
		rule   string // of the one problem, "" for none
		field  string
		warns  bool
	}{
		"SEN-002 a field is missing":           {"goal", change{"message_id": gone}, "SEN-002", "message_id", false},
		"SEN-002 a nested field":               {"goal", change{"next_agent.reason": gone}, "SEN-002", "next_agent.reason", false},
		"SEN-002 a whole object":               {"goal", change{"status": gone}, "SEN-002", "status", false},
		"SEN-002 a null that does not apply":   {"goal", change{"error.error_code": gone}, "SEN-002", "error.error_code", false},
		"SEN-003 empty id":                     {"goal", change{"message_id": " "}, "SEN-003", "message_id", false},
		"SEN-003 a placeholder":                {"goal", change{"message_id": "{{uuid}}"}, "SEN-003", "message_id", false},
		"SEN-003 a number":                     {"goal", change{"message_id": 4}, "SEN-003", "message_id", false},
		"SEN-004 S11 no UUID is needed":        {"goal", change{"message_id": "x"}, "", "", false},
		"SEN-005 unknown is kept":              {"goal", change{"mood": 1}, "SEN-005", "mood", true},
		"SEN-005 unknown below":                {"goal", change{"status.mood": 1}, "SEN-005", "status.mood", true},
		"SEN-006 no time":                      {"goal", change{"timestamp.executed_at": "yesterday"}, "SEN-006", "timestamp.executed_at", false},
		"SEN-006 no such day":                  {"goal", change{"timestamp.executed_at": "2026-02-30T10:00:00Z"}, "SEN-006", "timestamp.executed_at", false},
		"SEN-006 without offset":               {"goal", change{"timestamp.executed_at": "2026-01-27T14:30:52"}, "", "", false},
		"SEN-007 empty zone":                   {"goal", change{"timestamp.timezone": ""}, "SEN-007", "timestamp.timezone", false},
		"SEN-008 other offset":                 {"goal", change{"timestamp.timezone": "UTC"}, "SEN-008", "timestamp.executed_at", true},
		"SEN-008 no such zone":                 {"goal", change{"timestamp.timezone": "Mars/Olympus"}, "SEN-008", "timestamp.timezone", true},
		"SEN-008 the machine's own":            {"goal", change{"timestamp.timezone": "Local"}, "SEN-008", "timestamp.timezone", true},
		"SEN-009 name is a list":               {"goal", change{"agent.name": []string{"goal_agent"}}, "SEN-009", "agent.name", false},
		"SEN-010 other type":                   {"goal", change{"agent.name": "x", "agent.type": "manager"}, "SEN-010", "agent.type", false},
		"SEN-011 no source":                    {"goal", change{"input.source": ""}, "SEN-011", "input.source", false},
		"SEN-012 S02 a number":                 {"goal", change{"input.content": 3}, "SEN-012", "input.content", false},
		"SEN-012 S02 a bool":                   {"goal", change{"input.content": true}, "SEN-012", "input.content", false},
		"SEN-012 S01 S02 null":                 {"goal", change{"input.content": nil}, "", "", false},
		"SEN-013 a number":                     {"goal", change{"output.content": 3, "agent.name": "x", "output.content_type": "analysis"}, "SEN-013", "output.content", false},
		"SEN-013 null with success":            {"goal", change{"output.content": nil}, "SEN-013", "output.content", false},
		"SEN-013 null while pending":           {"goal", change{"output.content": nil, "status.code": "pending"}, "", "", false},
		"SEN-014 empty type":                   {"goal", change{"output.content_type": ""}, "SEN-014", "output.content_type", false},
		"SEN-014 the list is open":             {"goal", change{"output.content_type": "poem", "agent.name": "poet"}, "", "", false},
		"SEN-015 S01 null ends the chain":      {"goal", change{"next_agent.name": nil}, "", "", false},
		"SEN-015 a number":                     {"goal", change{"next_agent.name": 3}, "SEN-015", "next_agent.name", false},
		"SEN-016 null":                         {"goal", change{"next_agent.reason": nil}, "SEN-016", "next_agent.reason", false},
		"SEN-017 other code":                   {"goal", change{"status.code": "done"}, "SEN-017", "status.code", false},
		"SEN-018 no string":                    {"objective", change{"status.message": nil}, "SEN-018", "status.message", false},
		"SEN-019 no boolean":                   {"goal", change{"error.has_error": "no"}, "SEN-019", "error.has_error", false},
		"SEN-020 other code":                   {"out_of_scope", change{"error.error_code": "OOPS"}, "SEN-020", "error.error_code", false},
		"SEN-020 null with an error":           {"out_of_scope", change{"error.error_code": nil}, "SEN-020", "error.error_code", false},
		"SEN-020 a code without error":         {"goal", change{"error.error_code": "TIMEOUT"}, "SEN-020", "error.error_code", false},
		"SEN-021 null with an error":           {"out_of_scope", change{"error.error_message": nil}, "SEN-021", "error.error_message", false},
		"SEN-021 a text without error":         {"goal", change{"error.error_message": "x"}, "SEN-021", "error.error_message", false},
		"SEN-022 negative":                     {"goal", change{"error.retry_count": -1}, "SEN-022", "error.retry_count", false},
		"SEN-022 half":                         {"goal", change{"error.retry_count": 0.5}, "SEN-022", "error.retry_count", false},
		"SEN-023 no boolean":                   {"goal", change{"error.recoverable": nil}, "SEN-023", "error.recoverable", false},
		"SEN-024 success with an error":        {"goal", change{"error.has_error": true, "error.error_code": "TIMEOUT", "error.error_message": "late"}, "SEN-024", "status.code", true},
		"SEN-025 session is a number":          {"goal", change{"metadata.session_id": 1}, "SEN-025", "metadata.session_id", false},
		"SEN-026 request is empty":             {"objective", change{"metadata.request_id": ""}, "SEN-026", "metadata.request_id", false},
		"SEN-027 zero":                         {"goal", change{"metadata.sequence_number": 0, "agent.name": "x"}, "SEN-027", "metadata.sequence_number", false},
		"SEN-027 a text":                       {"goal", change{"metadata.sequence_number": "2"}, "SEN-027", "metadata.sequence_number", false},
		"SEN-027 S12 the tenth":                {"goal", change{"metadata.sequence_number": 10, "agent.name": "x"}, "", "", false},
		"SEN-028 the first has a parent":       {"objective", change{"metadata.parent_message_id": "x"}, "SEN-028", "metadata.parent_message_id", false},
		"SEN-028 the second has none":          {"goal", change{"metadata.parent_message_id": nil}, "SEN-028", "metadata.parent_message_id", false},
		"SEN-029 partial":                      {"goal", change{"status.code": "partial"}, "", "", false},
		"SEN-030 no resources":                 {"goal", change{"resources": gone}, "SEN-030", "resources", false},
		"SEN-030 a list is missing":            {"goal", change{"resources.derived_refs": gone}, "SEN-030", "resources.derived_refs", false},
		"SEN-030 a list is null":               {"goal", change{"resources.derived_refs": nil}, "SEN-030", "resources.derived_refs", false},
		"SEN-031 a field is missing":           {"goal", change{"resources.source_refs.0.platform": gone}, "SEN-031", "resources.source_refs[0].platform", false},
		"SEN-031 another form of id":           {"goal", change{"resources.source_refs.0.ref_id": "source-1"}, "SEN-031", "resources.source_refs[0].ref_id", false},
		"SEN-032 other status":                 {"goal", change{"resources.storage_refs.0.status": "created"}, "SEN-032", "resources.storage_refs[0].status", false},
		"SEN-032 S01 uri is a number":          {"goal", change{"resources.storage_refs.0.storage_uri": 1}, "SEN-032", "resources.storage_refs[0].storage_uri", false},
		"SEN-033 a field is missing":           {"goal", change{"metadata.sequence_number": 4, "agent.name": "x", "resources.derived_refs": []any{change{"ref_id": "derived_1", "parent_ref_id": "store_1", "storage_uri": nil, "asset_type": "a", "created_at_sequence": nil, "status": "pending"}}}, "SEN-033", "resources.derived_refs[0].capability_id", false},
		"SEN-034 an id twice":                  {"goal", change{"resources.source_refs": []any{source("src_1", "a"), source("src_1", "b")}}, "SEN-034", "resources.source_refs[1].ref_id", false},
		"SEN-035 the wrong source":             {"objective", change{"output.content.1": "From store_1 (acquired from src_2), analyze"}, "SEN-035", "output.content[1]", true},
		"SEN-035 later mentions are bare":      {"goal", change{"output.content.objective_2.goals.1": "Transcribe store_1 (acquired from src_1)"}, "SEN-035", "output.content.objective_2.goals[1]", true},
		"SEN-036 objective without provenance": {"objective", change{"output.content.1": "From store_1, analyze speaker sentiment"}, "SEN-036", "output.content[1]", true},
		"SEN-036 goal without provenance":      {"goal", change{"output.content.objective_2.goals.0": "Extract audio track from store_1"}, "SEN-036", "output.content.objective_2.goals[0]", true},
		"S09 a sentence that names the source": {"goal", change{"output.content.objective_2.goals.0": "Extract audio track from store_1, which src_1 is"}, "", "", false},
		"SEN-037 derived before the planning":  {"goal", change{"resources.derived_refs": []any{derived("derived_1")}}, "SEN-037", "resources.derived_refs", true},
		"SEN-038 a uri while pending":          {"goal", change{"resources.storage_refs.0.storage_uri": "s3://x"}, "SEN-038", "resources.storage_refs[0].storage_uri", true},
		"SEN-038 no url":                       {"goal", change{"resources.source_refs.0.url": ""}, "SEN-038", "resources.source_refs[0].url", true},
		"SEN-039 out of scope has them too":    {"out_of_scope", change{"resources.source_refs": gone}, "SEN-039", "resources.source_refs", false},
		"SEN-040 no audit":                     {"goal", change{"audit": gone}, "SEN-040", "audit", false},
		"SEN-041 no notes":                     {"goal", change{"audit.compliance_notes": ""}, "SEN-041", "audit.compliance_notes", false},
		"SEN-042 no list":                      {"goal", change{"audit.governance_files_consulted": "a/b.md"}, "SEN-042", "audit.governance_files_consulted", false},
		"SEN-042 a number in it":               {"goal", change{"audit.governance_files_consulted.0": 1}, "SEN-042", "audit.governance_files_consulted[0]", false},
		"SEN-043 a bare name":                  {"goal", change{"audit.governance_files_consulted.0": "audit.md"}, "SEN-043", "audit.governance_files_consulted[0]", true},
		"SEN-043 an absolute path":             {"goal", change{"audit.governance_files_consulted.0": "/etc/audit.md"}, "SEN-043", "audit.governance_files_consulted[0]", true},
		"SEN-044 empty reasoning":              {"goal", change{"audit.reasoning": ""}, "SEN-044", "audit.reasoning", true},
		"SEN-044 no rule is named":             {"goal", change{"audit.reasoning": "I felt like it."}, "SEN-044", "audit.reasoning", true},
		"SEN-051 wrong layer":                  {"goal", change{"agent.type": "operational"}, "SEN-051", "agent.type", true},
		"SEN-051 wrong number":                 {"goal", change{"metadata.sequence_number": 3}, "SEN-051", "metadata.sequence_number", true},
		"SEN-051 wrong output":                 {"goal", change{"output.content_type": "analysis"}, "SEN-051", "output.content_type", true},
		"SEN-056 objectives are no list":       {"objective", change{"output.content": "all of it"}, "SEN-056", "output.content", true},
		"SEN-056 goals of another form":        {"goal", change{"output.content.objective_1": []any{"x"}}, "SEN-056", "output.content", true},
		"SEN-057 out of scope has a next":      {"out_of_scope", change{"next_agent.name": "goal_agent"}, "SEN-057", "next_agent.name", true},
		"SEN-057 out of scope has an output":   {"out_of_scope", change{"output.content": "x"}, "SEN-057", "output.content", true},
		"SEN-064 another count":                {"goal", change{"status.message": "2 objectives, 11 actionable goals"}, "SEN-064", "status.message", true},
		"S10 no count":                         {"goal", change{"status.message": "All decomposed"}, "S10", "status.message", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := changed(t, tc.sample, tc.change)
			m, got := Decode(data)
			if m == nil {
				t.Fatalf("nothing was read: %v", got)
			}
			said, other := got.Errors, got.Warnings
			if tc.warns {
				said, other = other, said
			}
			if tc.rule == "" {
				if len(said)+len(other) > 0 {
					t.Errorf("said %v, %v", said, other)
				}
				return
			}
			if len(said) != 1 || len(other) > 0 || said[0].Rule != tc.rule || said[0].Field != tc.field {
				t.Errorf("said %v, besides %v; want %s of %s", said, other, tc.rule, tc.field)
			}
			if _, strict := DecodeStrict(data); tc.rule == "SEN-005" && (len(strict.Errors) != 1 || len(strict.Warnings) > 0) {
				t.Errorf("strict says %+v", strict)
			}
		})
	}
}

// TestDecode_SEN_001: what is no message at all, and that all problems are named at once.
func TestDecode_SEN_001(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": " ", "prose": "Here are the goals.", "a list": "[]", "null": "null", "cut off": `{"message_id":"x"`, "twice": `{"message_id":"x","message_id":"y"}`,
		"deep": `{"output":{"content":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`, "bad UTF-8": "{\"message_id\":\"\xff\"}", "two": "{} {}", "huge": `{"message_id":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		m, got := Decode([]byte(text))
		if m != nil || len(got.Errors) != 1 || got.Errors[0].Rule != "SEN-001" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	_, got := Decode([]byte(`{}`))
	var fields []string
	for _, p := range got.Errors {
		fields = append(fields, p.Field)
	}
	want := []string{"message_id", "timestamp", "agent", "input", "output", "next_agent", "status", "error", "metadata", "resources", "audit"}
	if !slices.Equal(fields, want) {
		t.Errorf("fields = %v", fields)
	}
}

var ruleID = regexp.MustCompile(`\b(?:SEN[-_]\d{3}|S[01]\d)\b`)

// TestRules_named: every rule and decision of the format is named by at least one test somewhere in the repository; rules.txt holds the ids
// that exist.
func TestRules_named(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, dir := range []string{"providers/planning", "ssot/audit", "coordinator", "cmd/arbiter"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := regexp.MustCompile(`([A-Za-z])_(S[01E])`).ReplaceAllString(string(data), "$1 $2") // in the names of functions
			text = regexp.MustCompile(`(\d)_(S[01E])`).ReplaceAllString(text, "$1 $2")
			for _, id := range ruleID.FindAllString(text, -1) {
				named[strings.ReplaceAll(id, "_", "-")] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for l := range strings.Lines(string(data)) {
		id, text, _ := strings.Cut(strings.TrimSpace(l), " ")
		if len(text) < 8 || slices.Contains(all, id) {
			t.Errorf("%q is no rule with its own id and sentence", l)
		}
		all = append(all, id)
		if !named[id] {
			t.Errorf("no test names %s: %s", id, text)
		}
	}
	for id := range named {
		if !slices.Contains(all, id) {
			t.Errorf("a test names %s, which is no rule", id)
		}
	}
}
