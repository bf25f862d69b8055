package amp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var searchNow = time.Date(2026, 2, 26, 14, 30, 0, 0, time.FixedZone("CET", 3600))

func TestParseSearch(t *testing.T) {
	t.Parallel()
	day := func(d, h int) time.Time { return time.Date(2026, 2, d, h, 0, 0, 0, searchNow.Location()) }
	for text, want := range map[string]Filter{
		"":                                {},
		"  \t ":                           {},
		"session start":                   {Search: &Search{Words: []string{"session", "start"}}},
		"session session":                 {Search: &Search{Words: []string{"session"}}},
		`"no session" is`:                 {Search: &Search{Words: []string{"is"}, Phrases: []string{"no session"}}},
		`"open end`:                       {Search: &Search{Phrases: []string{"open end"}}},
		"kind:ack KIND:turn":              {Kinds: []Kind{KindAck, KindTurn}},
		"task:t-2026-044":                 {TaskID: "T-2026-044"},
		"task:T-2026-1 ":                  {},
		"is:held is:LATE":                 {Search: &Search{Is: []SearchProperty{IsHeld, IsLate}}},
		"seq:18000..18140":                {After: 17999, Before: 18141},
		"seq:#12":                         {After: 11, Before: 13},
		"seq:5..":                         {After: 4},
		"seq:..5":                         {Before: 6},
		"since:7d":                        {Search: &Search{Since: searchNow.Add(-7 * 24 * time.Hour)}},
		"since:12h until:30m":             {Search: &Search{Since: searchNow.Add(-12 * time.Hour), Until: searchNow.Add(-30 * time.Minute)}},
		"until:2026-02-20":                {Search: &Search{Until: day(21, 0)}},
		"since:yesterday":                 {Search: &Search{Since: day(25, 0)}},
		"since:2026-02-26T10:00:00+01:00": {Search: &Search{Since: day(26, 10)}},
		"-draft -kind:turn":               {Search: &Search{Not: []Search{{Words: []string{"draft"}}, {Kinds: []Kind{KindTurn}}}}},
		`-"two words" x`:                  {Search: &Search{Words: []string{"x"}, Not: []Search{{Phrases: []string{"two words"}}}}},
		`"--force" -`:                     {Search: &Search{Words: []string{"-"}, Phrases: []string{"--force"}}},
		`agent:"my agent"`:                {Search: &Search{Agents: []string{"my agent"}}},
		"https://x.y std::sort":           {Search: &Search{Words: []string{"https://x.y", "std::sort"}}},
		"main.go:87 12:30":                {Search: &Search{Words: []string{"main.go:87", "12:30"}}},
		`"kind:ack"`:                      {Search: &Search{Phrases: []string{"kind:ack"}}},
		"type:review_verdict from:claude to:coordinator decision:rejected severity:major rule:AMP-012 status:partial role:system": {Search: &Search{
			Types: []MessageType{ReviewVerdict}, From: []string{"claude"}, To: []Role{Coordinator}, Decisions: []Decision{Rejected},
			Severities: []string{"major"}, Rules: []string{"AMP-012"}, Statuses: []string{"partial"}, Roles: []Role{System},
		}},
		"task:T-2026-001 task:T-2026-002": {Search: &Search{Tasks: []TaskID{"T-2026-001", "T-2026-002"}}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSearch(text, searchNow)
			if text == "task:T-2026-1 " {
				if err == nil {
					t.Error("a short task id was taken")
				}
				return
			}
			want.Newest = true
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("ParseSearch(%q): %v\n%s", text, err, d)
			}
		})
	}
}

func TestParseSearch_errors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		word string
		at   int
		says string
	}{
		"a typ:x":                        {"typ:x", 2, `there is no field "typ", did you mean "type:"?; fields are kind, type,`},
		"frm:x":                          {"frm:x", 0, `did you mean "from:"?`},
		"zzzzzz:x":                       {"zzzzzz:x", 0, `there is no field "zzzzzz"; fields`},
		"kind:massage":                   {"kind:massage", 0, `"massage" is no kind, did you mean "message"?; it is one of message, ack,`},
		"type:review":                    {"type:review", 0, `did you mean "review_request"?`},
		"-is:hold":                       {"-is:hold", 0, `did you mean "held"?; it is one of held, late, refused`},
		"x since:":                       {"since:", 2, "since: needs an age such as 7d or 12h"},
		"decision:":                      {"decision:", 0, "decision: needs one of approved, approved_with_fix, rejected"},
		"since:soon":                     {"since:soon", 0, `"soon" is no moment`},
		"since:7d since:8d":              {"since:8d", 9, "only once"},
		"-since:7d":                      {"-since:7d", 0, "use until:"},
		"-seq:7":                         {"-seq:7", 0, "no opposite"},
		"seq:9..3":                       {"seq:9..3", 0, "is no entry"},
		"seq:..":                         {"seq:..", 0, "is no entry"},
		"seq:0":                          {"seq:0", 0, "is no entry"},
		"seq:1 seq:2":                    {"seq:2", 6, "only once"},
		"task:44":                        {"task:44", 0, "is no task; it is an id such as T-2026-044"},
		`a ""`:                           {`""`, 2, "the phrase is empty"},
		strings.Repeat("x", MaxSearch+1): {"", 0, "longer than"},
		strings.Repeat("x ", MaxSearchTerms) + "y": {"y", 2 * MaxSearchTerms, "more than 64"},
	} {
		t.Run(clip(text, 30), func(t *testing.T) {
			t.Parallel()
			_, err := ParseSearch(text, searchNow)
			e, ok := errors.AsType[*SearchError](err)
			if !ok || e.Word != want.word || e.At != want.at || !strings.Contains(e.Error(), want.says) {
				t.Errorf("ParseSearch: %#v, want %+v", err, want)
			}
		})
	}
}

// Every value that a field names is taken, and every field has what completion and documents need.
func TestSearchFields(t *testing.T) {
	t.Parallel()
	for _, f := range SearchFields() {
		if f.Name == "" || f.Takes == "" || f.About == "" {
			t.Errorf("field %q says too little", f.Name)
		}
		for _, v := range f.Values {
			if _, err := ParseSearch(f.Name+":"+strings.ToUpper(v), searchNow); err != nil {
				t.Errorf("%s:%s: %v", f.Name, v, err)
			}
		}
	}
}

func searchEntry(kind Kind, role Role, actor string, body any) *Entry {
	return &Entry{Seq: 7, Record: Record{
		Kind: kind, TaskID: "T-2026-044", Role: role, Actor: actor, At: searchNow.UTC(), ID: "id-18140", Body: EncodeBody(body),
	}}
}

func verdictEntry(t *testing.T, v *Verdict) *Entry {
	t.Helper()
	m := &Message{
		MsgID: NewMsgID(ReviewVerdict, "T-2026-044", searchNow, nil), ProtocolVersion: Version, Type: ReviewVerdict, From: Reviewer,
		To: Coordinator, TaskID: "T-2026-044", Timestamp: FormatTime(searchNow), RequiresAck: true, Payload: v,
		ContextRef: []string{"review_request-T-2026-044-1772100000000"},
	}
	body, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	e := searchEntry(KindMessage, Reviewer, "claude", nil)
	e.ID, e.Body = m.MsgID, body
	return e
}

func TestSearch_match(t *testing.T) {
	t.Parallel()
	yes := true
	verdict := verdictEntry(t, &Verdict{
		Decision: Rejected, Confidence: 0.95,
		CriteriaResults: []CriterionResult{{Criterion: "it keeps the session", Passed: &yes, Evidence: "line \"87\"\nof the file"}},
		Issues: []Issue{{
			Severity: IssueCritical, File: "src/BreathSessionManager.swift", Line: 87, SuggestedFix: "use HTTPServer2",
			Description: "No session reference is held after session.start(); ARC will recycle it. 会话没有保存。 Ärger",
		}},
	})
	unsure := verdictEntry(t, &Verdict{Decision: Approved, Confidence: 0.5, CriteriaResults: []CriterionResult{{Criterion: "c", Passed: &yes, Evidence: "e"}}})
	escaped := searchEntry(KindBus, System, "bus", nil)
	escaped.Body = []byte(`{"k":"sch\u00f6n \u4f1a\u8bdd","n":-4.25e3,"deep":[{"x":["inner"]}]}`)
	raw := searchEntry(KindBus, System, "bus", nil)
	raw.Body = []byte("no json: \xff\xfe here")
	refusal := searchEntry(KindRefusal, Executor, "codex", Refusal{
		What: "task_result", Source: "turn", Raw: []byte(`{"payload":{"secret":"the raw words"}}`), RawLen: 40,
		Problems: []Problem{{Rule: "AMP-174", Field: "x", Message: "epoch 1 is over"}},
	})
	noJSON := searchEntry(KindRefusal, Executor, "codex", Refusal{What: "bytes", Source: "turn", Raw: []byte("Traceback: boom"), Problems: []Problem{{Rule: "AMP-004", Message: "m"}}})
	ack := searchEntry(KindAck, Executor, "codex", Ack{AckFor: "task_dispatch-T-2026-044-1772100000000", By: Executor, Status: AckRefused, Reason: "busy", Late: true})
	turn := searchEntry(KindTurn, Executor, "arbiter", Turn{TurnID: "u1", Event: TurnEnded, Agent: "gemini", Role: Executor, Outcome: TurnTimeout, Exit: new(int)})
	override := searchEntry(KindCommand, Admin, "mira", Command{ID: "c", Command: Override, By: "mira", Args: Args{Decision: Approved, Executor: "codex"}})

	for _, c := range []struct {
		e    *Entry
		text string
		want bool
	}{
		{verdict, "session", true},
		{verdict, "SESSION ManagER", true},
		{verdict, "manager.swift", true},
		{verdict, "sess", true},
		{verdict, "ession", false},
		{verdict, "anager", false},
		{verdict, `"session"`, true},
		{verdict, `"sess"`, false},
		{verdict, `"SessionManager.swift"`, true},
		{verdict, `"BreathSession"`, false},
		{verdict, `"session reference is HELD after"`, true},
		{verdict, `"session reference after"`, false},
		{verdict, `"start();"`, true},
		{verdict, "session.start", true},
		{verdict, "(); arc", true},
		{verdict, "server2", true},
		{verdict, "http", true},
		{verdict, "tpserver", false},
		{verdict, "会话", true},
		{verdict, "话没", true},
		{verdict, `"保存"`, true},
		{verdict, "会保", false},
		{verdict, "ÄRGER", true},
		{verdict, "ärg", true},
		{verdict, "rger", false},
		{verdict, `line "87"`, true},
		{verdict, "\"\x38\x37\"", true},
		{verdict, "87", true},
		{verdict, "0.95", true},
		{verdict, "claude", true},
		{verdict, "T-2026-044", true},
		{verdict, "review_verdict-T-2026-044", true},
		{verdict, "suggested_fix", false}, // the name of a member
		{verdict, "session -claude", false},
		{verdict, "session -gemini", true},
		{verdict, `-"session reference"`, false},
		{verdict, "type:review_verdict decision:rejected severity:critical from:claude from:gemini", true},
		{verdict, "from:reviewer to:coordinator role:reviewer agent:CLAUDE kind:message", true},
		{verdict, "from:gemini", false},
		{verdict, "to:admin", false},
		{verdict, "decision:approved", false},
		{verdict, "decision:approved decision:rejected", true},
		{verdict, "severity:minor", false},
		{verdict, "is:held", false},
		{verdict, "-is:held", true},
		{verdict, "-decision:rejected", false},
		{unsure, "is:held", true},
		{verdict, "since:1h", true},
		{verdict, "since:2026-02-26T13:30:00Z", true},
		{verdict, "until:2026-02-26T13:30:00Z", false},
		{verdict, "since:2026-02-26 until:2026-02-26", true},
		{verdict, "until:2026-02-25", false},
		{verdict, "since:2026-02-27", false},
		{verdict, "task:T-2026-001 task:T-2026-044", true},
		{verdict, "task:T-2026-001 task:T-2026-002", false},
		{escaped, "schön", true},
		{escaped, "会话", true},
		{escaped, "inner", true},
		{escaped, "-4.25e3", false}, // a minus excludes
		{escaped, `"-4.25e3"`, true},
		{escaped, "deep", false},
		{raw, "here", true},
		{refusal, "is:refused is:late rule:amp-174 type:task_result", true},
		{refusal, "rule:AMP-004", false},
		{refusal, `"the raw words"`, true},
		{refusal, "secret", false},
		{refusal, "epoch", true},
		{refusal, "is:held", false},
		{noJSON, "traceback boom", true},
		{ack, "is:held", true},
		{ack, "is:late status:refused", true},
		{ack, "is:refused", true},
		{ack, "from:executor", true},
		{turn, "agent:gemini status:timeout", true},
		{turn, "agent:codex", false},
		{turn, "type:task_result", false},
		{override, "decision:approved agent:codex from:mira", true},
	} {
		f, err := ParseSearch(c.text, searchNow)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		// Kinds, tasks and positions are the filter's; the rest is the search's.
		if got := among(f.Kinds, c.e.Kind) && (f.TaskID == "" || f.TaskID == c.e.TaskID) && f.Search.Match(c.e); got != c.want {
			t.Errorf("%q matches entry %.60s: %v, want %v", c.text, c.e.Body, got, c.want)
		}
	}
}

func TestSearch_mark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ search, text, want string }{
		{"session", "No session in BreathSession, obsession", "No [session] in Breath[Session], obsession"},
		{`"a b" b`, "x a b c", "x [a b] c"},
		{"会", "开会会", "开[会会]"},
		{"k", "K k \xff k", "[K] [k] \xff [k]"},
		{"-no yes", "no yes", "no [yes]"},
		{"type:escalation", "escalation", "escalation"},
	} {
		f, err := ParseSearch(c.search, searchNow)
		if err != nil {
			t.Fatal(err)
		}
		got, at := "", 0
		for _, m := range f.Search.Mark(c.text) {
			got += c.text[at:m[0]] + "[" + c.text[m[0]:m[1]] + "]"
			at = m[1]
		}
		if got += c.text[at:]; got != c.want {
			t.Errorf("Mark(%q) = %s, want %s", c.search, got, c.want)
		}
	}
}

// A search travels as JSON to the coordinator and says the same there.
func TestSearch_json(t *testing.T) {
	t.Parallel()
	f, err := ParseSearch(`a "b c" type:task_result since:7d -is:late seq:1..9 kind:message`, searchNow)
	if err != nil {
		t.Fatal(err)
	}
	data, err := writeJSON(Query{Kind: QueryEntries, Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	var got Query
	if err := readJSON(data, &got); err != nil || !cmp.Equal(f, got.Filter) {
		t.Errorf("%v: %s", err, cmp.Diff(f, got.Filter))
	}
	if data, _ := writeJSON(Query{Kind: QueryEntries}); strings.Contains(string(data), "search") {
		t.Errorf("a query without a search has one: %s", data)
	}
}

// FuzzParseSearch: nothing panics; an error names a word that stands where it says; what parses, matches without a panic, and what
// is quoted is looked for as it is.
func FuzzParseSearch(f *testing.F) {
	for _, s := range []string{
		`a "b c" -d`, "type:review_verdict from:x", "since:7d until:2026-02-26", "seq:1..2", "is:held -is:late", "typ:x", `"`, "-", `-"`,
		"会话 Ärger", "task:T-2026-044", "http://x :: a:b", "\xff\xfe:", "K\u212a",
	} {
		f.Add(s, []byte(`{"a":["b c",1]}`))
	}
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		e := searchEntry(KindBus, System, "bus", nil)
		e.Body = body
		filter, err := ParseSearch(text, searchNow)
		if err != nil {
			se, ok := errors.AsType[*SearchError](err)
			if !ok || se.Message == "" || !strings.HasPrefix(text[se.At:], se.Word) {
				t.Fatalf("ParseSearch(%q): %#v", text, err)
			}
			return
		}
		filter.Search.Match(e)
		for _, m := range filter.Search.Mark(string(body)) {
			if m[0] >= m[1] || m[1] > len(body) {
				t.Fatalf("Mark(%q, %q) has %v", text, body, m)
			}
		}
		if text == "" || strings.Contains(text, `"`) || strings.TrimSpace(text) == "" || len(text) > 1000 {
			return
		}
		e.Body = EncodeBody(text)
		found, err := ParseSearch(`"`+text+`"`, searchNow)
		if err != nil || !found.Search.Match(e) && strings.ToValidUTF8(text, "") == text {
			t.Fatalf("the phrase %q is not found in itself: %v", text, err)
		}
	})
}

func BenchmarkSearchMatch(b *testing.B) {
	body := EncodeBody(map[string]string{"a": strings.Repeat("what was said about it, ", 40), "b": strings.Repeat("path/to/SomeFile.go ", 40)})
	e := &Entry{Record: Record{Kind: KindBus, Actor: "ada", ID: "x", Body: body}}
	f, err := ParseSearch("nothing", searchNow)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if f.Search.Match(e) {
			b.Fatal("it is found")
		}
	}
}
