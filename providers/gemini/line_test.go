package gemini

import (
	"strings"
	"testing"

	"arbiter/providers"
	"arbiter/providers/program"
)

// lines are recorded from gemini 0.61.0.
var lines = map[string]string{
	"init":      `{"type":"init","timestamp":"2026-11-22T05:40:02.110Z","session_id":"a570d065-e2ee-483c-986f-000be2ac8480","model":"scripted"}`,
	"user":      `{"type":"message","timestamp":"2026-11-22T05:40:02.114Z","role":"user","content":"Judge it.\n"}`,
	"use":       `{"type":"tool_use","timestamp":"2026-11-22T05:40:02.338Z","tool_name":"write_file","tool_id":"write_file__call_mt_0_0","parameters":{"file_path":"/work/made.txt","content":"made\n"}}`,
	"result":    `{"type":"tool_result","timestamp":"2026-11-22T05:40:02.461Z","tool_id":"write_file__call_mt_0_0","status":"error","output":"Access denied","error":{"type":"invalid_tool_params","message":"Access denied"}}`,
	"assistant": `{"type":"message","timestamp":"2026-11-22T05:40:02.505Z","role":"assistant","content":"All of it","delta":true}`,
	"success":   `{"type":"result","timestamp":"2026-11-22T05:40:02.520Z","status":"success","stats":{"total_tokens":480,"input_tokens":400,"output_tokens":80,"cached":40,"input":360,"duration_ms":411,"tool_calls":1}}`,
	"failure":   `{"type":"result","timestamp":"2026-11-22T05:37:06.833Z","status":"error","error":{"type":"unknown","message":"[API Error: exception TypeError: fetch failed sending request]"},"stats":{"total_tokens":0}}`,
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]event{
		"init":      {kind: isInit, model: "scripted", session: "a570d065-e2ee-483c-986f-000be2ac8480"},
		"user":      {kind: isUnknown},
		"use":       {kind: isCall, call: "write_file__call_mt_0_0", text: "write_file /work/made.txt"},
		"result":    {kind: isCalled, call: "write_file__call_mt_0_0", failed: true},
		"assistant": {kind: isPiece, text: "All of it"},
		"success":   {kind: isResult, text: "the turn ended with status success", usage: providers.Usage{Input: 400, Cached: 40, Output: 80, Tokens: 480}},
		"failure":   {kind: isResult, failed: true, text: "[API Error: exception TypeError: fetch failed sending request]"},
	} {
		if got := decode([]byte(lines[name])); got != want {
			t.Errorf("%s: decode = %+v, want %+v", name, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	limit := `{"type":"unknown","message":"[API Error: Too Many Requests]\nPlease wait and try again later. To increase your limits, request a quota increase"}`
	if got := reason([]byte(limit), "error"); got != "[API Error: Too Many Requests]" {
		t.Errorf("reason = %q", got)
	}
}

func TestLastError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tail, message string
		code          int
	}{
		"none":    {"Ripgrep is not available.\n", "", 0},
		"at end":  {"Error {\n at x {y}\n}\n{\n \"session_id\": \"s\",\n \"error\": {\"type\": \"Error\", \"message\": \"no\", \"code\": 429}\n}\n", "no", 429},
		"a word":  {`{"error":{"message":"no","code":"X"}}`, "no", 0},
		"braces":  {strings.Repeat("{", 8000), "", 0},
		"another": {`{"error":{"message":"first","code":1}} {"a":1}`, "first", 1},
	} {
		if message, code := lastError(tc.tail); message != tc.message || code != tc.code {
			t.Errorf("%s: lastError = %q, %d", name, message, code)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	good, bad := event{kind: isResult}, event{kind: isResult, failed: true, text: "[API Error: You exceeded your current quota]"}
	for name, tc := range map[string]struct {
		result *event
		exit   int
		tail   string
		fails  providers.Failure
	}{
		"good":         {&good, 0, "", ""},
		"good, crash":  {&good, 1, "", providers.FailCrashed},
		"quota":        {&bad, 1, "", providers.FailQuota},
		"no auth type": {nil, 41, "Invalid auth method selected.", providers.FailConfig},
		"no trust":     {nil, 55, "not trusted", providers.FailConfig},
		"stopped":      {nil, 0, "", providers.FailCrashed},
		"error object": {nil, 173, `{"error":{"message":"slow down","code":429}}`, providers.FailRate},
		"at once":      {nil, 1, "unknown option", providers.FailConfig},
	} {
		r := &run{result: tc.result}
		r.answer.WriteString("an answer")
		failed := r.judge(program.End{Exit: &tc.exit, Tail: tc.tail})
		if (failed == nil) != (tc.fails == "") || failed != nil && failed.Failure != tc.fails {
			t.Errorf("%s: judge = %v, want %q", name, failed, tc.fails)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e := decode(line)
		if e.kind != isPiece && e.kind != isResult && (len(e.text) > 8000 || strings.ContainsAny(e.text, "\r\n") || strings.ToValidUTF8(e.text, "") != e.text) {
			t.Errorf("text %q of %q", e.text, line)
		}
		if e.usage.Input < 0 || e.usage.Output < 0 || e.usage.Cached < 0 {
			t.Errorf("usage %+v of %q", e.usage, line)
		}
		if e.kind == isResult && e.failed && e.text == "" {
			t.Errorf("a failed turn without words: %q", line)
		}
		lastError(string(line))
	})
}
