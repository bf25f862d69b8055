package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/modeltest"
)

const key = "k-secret/0123456789"

// verdict is an answer of a reviewer.
func verdict(decision string, passed ...string) string {
	results := make([]string, len(passed))
	for i, p := range passed {
		results[i] = fmt.Sprintf(`{"criterion":"criterion %d","passed":%s,"evidence":"seen %d"}`, i+1, p, i+1)
	}
	issues := "[]"
	if decision == "rejected" {
		issues = `[{"severity":"major","file":"a.go","line":3,"description":"wrong","suggested_fix":"mend"}]`
	}
	return fmt.Sprintf(`{"thought":"t","status":"success","data":{"decision":%q,"criteria_results":[%s],"issues":%s,"confidence":0.9},"message":"m"}`,
		decision, strings.Join(results, ","), issues)
}

// reviewer is a turn of a reviewer with two criteria.
func reviewer() providers.Turn {
	return providers.Turn{
		ID: "turn-1", Task: "T-2026-001", Role: amp.Reviewer,
		Message: json.RawMessage(`{"type":"review_request","payload":{"review_scope":"full"}}`),
		Context: []json.RawMessage{json.RawMessage(`{"type":"task_dispatch","payload":{"acceptance_criteria":["criterion 1","criterion 2"]}}`)},
	}
}

// result is what a turn came to.
type result struct {
	out    providers.Outcome
	err    error
	failed *providers.TurnError
	events []providers.Event
	log    string
	took   time.Duration
}

func (r *result) acks() int {
	n := 0
	for _, e := range r.events {
		if e.Type == providers.EventAck {
			n++
		}
	}
	return n
}

func (r *result) said() string {
	var b strings.Builder
	for _, e := range r.events {
		b.WriteString(e.Text + "\n")
	}
	return b.String()
}

// play runs a turn; to be called in a bubble.
func play(t *testing.T, c Config, turn providers.Turn) result {
	t.Helper()
	if c.Dialect == Chat && c.URL == "" {
		c.URL = "https://chat.test/v1"
	}
	if c.Key == nil {
		c.Key = func() (string, error) { return key + "\n", nil }
	}
	c.Name, c.Model = "judge", "scripted"
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var res result
	var log bytes.Buffer
	turn.Log = &log
	began := time.Now()
	res.out, res.err = a.Run(t.Context(), turn, func(e providers.Event) { res.events = append(res.events, e) })
	res.failed, _ = errors.AsType[*providers.TurnError](res.err)
	res.log, res.took = log.String(), time.Since(began)
	return res
}

var everyDialect = []Dialect{Claude, Gemini, Responses, Chat}

// bubble runs a case for every dialect in a bubble of its own.
func bubble(t *testing.T, name string, f func(t *testing.T, d Dialect)) {
	t.Helper()
	for _, d := range everyDialect {
		t.Run(name+"/"+string(d), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, d) })
		})
	}
}

// wantFinish is a finish word that is no whole answer, by dialect.
var lengthWord = map[Dialect]string{Claude: "max_tokens", Gemini: "MAX_TOKENS", Responses: "incomplete", Chat: "length"}

func TestAgent_dialects(t *testing.T) {
	t.Parallel()
	good := verdict("approved", "true", "true")
	plain := func(steps ...modeltest.Step) *modeltest.Model {
		return modeltest.New(modeltest.Script{Plain: true, Steps: steps})
	}
	for name, tc := range map[string]struct {
		steps []modeltest.Step
		// failure is the class, "" for a verdict; text stands in its words.
		failure  providers.Failure
		text     string
		requests int
		acks     int
		retry    time.Duration
		min, max time.Duration
		limits   providers.Limits
	}{
		"happy":   {steps: []modeltest.Step{modeltest.Say(good)}, requests: 1, acks: 1, max: time.Nanosecond},
		"fenced":  {steps: []modeltest.Step{modeltest.Say("Here:\n```json\n" + good + "\n```")}, requests: 1, acks: 1},
		"repair":  {steps: []modeltest.Step{modeltest.Say(verdict("fine", "true")), modeltest.Say(good)}, requests: 2, acks: 1},
		"prose":   {steps: []modeltest.Step{modeltest.Say("It looks good."), modeltest.Say("Really."), modeltest.Say(good)}, failure: providers.FailAnswer, text: "SACP", requests: 2, acks: 1},
		"broken":  {steps: []modeltest.Step{modeltest.Say(verdict("fine", "true")), modeltest.Say(verdict("well", "true"))}, failure: providers.FailAnswer, text: "decision", requests: 2, acks: 1},
		"fixes":   {steps: []modeltest.Step{modeltest.Say(strings.Replace(good, `"issues"`, `"direct_fixes":[{"file":"a","change_type":"typo","diff_lines":1}],"issues"`, 1)), modeltest.Say(good)}, requests: 1, acks: 1},
		"gave up": {steps: []modeltest.Step{modeltest.Say(`{"thought":"t","status":"failure","data":{},"message":"too hard"}`)}, failure: providers.FailAnswer, text: "too hard", requests: 1, acks: 1},
		"blank": {
			steps:   []modeltest.Step{{Text: "  "}},
			failure: providers.FailAnswer, text: "blank", requests: 3, acks: 1, min: time.Second,
		},
		"401": {steps: []modeltest.Step{modeltest.Fail(0, 401)}, failure: providers.FailAuth, text: "set another one", requests: 1},
		"403": {steps: []modeltest.Step{modeltest.Fail(0, 403)}, failure: providers.FailAuth, requests: 1},
		"402": {steps: []modeltest.Step{modeltest.Fail(0, 402)}, failure: providers.FailQuota, text: "add credit", requests: 1},
		"404": {steps: []modeltest.Step{modeltest.Fail(0, 404)}, failure: providers.FailConfig, text: "no model scripted", requests: 1},
		"400": {steps: []modeltest.Step{modeltest.Fail(0, 400)}, failure: providers.FailModel, text: "refused", requests: 1},
		"302": {steps: []modeltest.Step{modeltest.Fail(0, 302, "Location", "https://elsewhere.test/")}, failure: providers.FailConfig, text: "elsewhere", requests: 1},
		"429, seconds": {
			steps:    []modeltest.Step{modeltest.Fail(2, 429, "Retry-After", "7"), modeltest.Say(good)},
			requests: 3, acks: 1, min: 14 * time.Second, max: 14 * time.Second,
		},
		"429, date": { // the clock of a bubble begins at midnight UTC 2000-01-01
			steps:    []modeltest.Step{modeltest.Fail(1, 429, "Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT"), modeltest.Say(good)},
			requests: 2, acks: 1, min: 30 * time.Second, max: 30 * time.Second,
		},
		"429, long": {
			steps:   []modeltest.Step{modeltest.Fail(0, 429, "Retry-After", "600")},
			failure: providers.FailRate, text: "10m0s", requests: 1, retry: 10 * time.Minute, max: time.Nanosecond,
		},
		"429, for ever": {
			steps:   []modeltest.Step{modeltest.Fail(0, 429)},
			failure: providers.FailRate, text: "tried 6 times", requests: 6, min: 15 * time.Second, max: time.Minute,
		},
		"500 once":     {steps: []modeltest.Step{modeltest.Fail(1, 500), modeltest.Say(good)}, requests: 2, acks: 1, min: time.Second / 2, max: 2 * time.Second},
		"500 for ever": {steps: []modeltest.Step{modeltest.Fail(0, 500)}, failure: providers.FailModel, requests: 6, min: 15 * time.Second},
		"529":          {steps: []modeltest.Step{modeltest.Fail(1, 529), modeltest.Say(good)}, requests: 2, acks: 1},
		"529 for ever": {steps: []modeltest.Step{modeltest.Fail(0, 529)}, failure: providers.FailOverloaded, requests: 6},
		"cut once":     {steps: []modeltest.Step{modeltest.Cut(1, good), modeltest.Say(good)}, requests: 2, acks: 1},
		"cut for ever": {steps: []modeltest.Step{modeltest.Cut(0, good)}, failure: providers.FailTransport, text: "broke off", requests: 6},
		"hang": {
			steps: []modeltest.Step{modeltest.Hang()}, limits: providers.Limits{Total: 5 * time.Minute},
			failure: providers.FailTotal, text: "5m0s", requests: 1, acks: 1, min: 5 * time.Minute, max: 5 * time.Minute,
		},
		"silent": {
			steps: []modeltest.Step{modeltest.Hang()}, limits: providers.Limits{Silence: time.Minute},
			failure: providers.FailSilent, text: "1m0s", requests: 2, acks: 1, min: 2 * time.Minute,
		},
		"huge": {
			steps: []modeltest.Step{modeltest.Say(strings.Repeat("x", 200_000))}, limits: providers.Limits{Output: 100_000},
			failure: providers.FailOutput, text: "100000 bytes", requests: 1,
		},
		"garbage": {steps: []modeltest.Step{{Status: 200, Body: "<html>"}}, failure: providers.FailModel, text: "not its protocol", requests: 3, acks: 1},
		"null":    {steps: []modeltest.Step{{Status: 200, Body: "null"}}, failure: providers.FailAnswer, text: "did not say why", requests: 1, acks: 1},
	} {
		bubble(t, name, func(t *testing.T, d Dialect) {
			m := plain(tc.steps...)
			turn := reviewer()
			turn.Limits = tc.limits
			res := play(t, Config{Dialect: d, Transport: modeltest.Transport(m)}, turn)
			if tc.failure == "" {
				var v amp.Verdict
				if res.err != nil || json.Unmarshal(res.out.Final, &v) != nil || v.Decision != amp.Approved || len(v.CriteriaResults) != 2 {
					t.Fatalf("Run = %s, %v", res.out.Final, res.err)
				}
				if !bytes.Contains(res.out.Answer, []byte(`"thought":"t"`)) {
					t.Errorf("answer = %s", res.out.Answer)
				}
				if u := res.out.Usage; u.Model != "scripted" || u.Input < 200 || u.Cached < 20 || u.Output < 40 || u.Tokens != u.Input+u.Output {
					t.Errorf("usage = %+v", u)
				}
			} else if res.failed == nil || res.failed.Failure != tc.failure || !strings.Contains(res.failed.Text, tc.text) || res.out.Final != nil {
				t.Errorf("Run = %s, %v; want %s with %q", res.out.Final, res.err, tc.failure, tc.text)
			}
			if tc.retry != 0 && (res.failed == nil || res.failed.Retry != tc.retry) {
				t.Errorf("retry = %+v, want %s", res.failed, tc.retry)
			}
			if n := len(m.Requests()); n != tc.requests || res.acks() != tc.acks {
				t.Errorf("%d requests and %d acks, want %d and %d", n, res.acks(), tc.requests, tc.acks)
			}
			if res.took < tc.min || tc.max > 0 && res.took > tc.max {
				t.Errorf("it took %s, want %s to %s", res.took, tc.min, tc.max)
			}
			if all := fmt.Sprint(res.log, res.said(), res.err); strings.Contains(all, key) || !strings.Contains(res.log, "→ POST") {
				t.Errorf("log: %s", all)
			}
			for _, r := range m.Requests() {
				if d == Claude && (r.Header.Get("Anthropic-Version") != "2023-06-01" || !bytes.Contains(r.Body, []byte(`"max_tokens":16000`))) {
					t.Errorf("header %v, body %s", r.Header, r.Body)
				}
				if sent := r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); sent != key {
					t.Errorf("the key was sent as %q", sent)
				}
			}
		})
	}
}

func TestAgent_waitsAreSaid(t *testing.T) {
	t.Parallel()
	bubble(t, "429", func(t *testing.T, d Dialect) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{
			modeltest.Fail(1, 429, "Retry-After", "7"), modeltest.Say(verdict("approved", "true", "true")),
		}})
		res := play(t, Config{Dialect: d, Transport: modeltest.Transport(m)}, reviewer())
		if want := "waits 7s, then try 2 of 6"; !strings.Contains(res.said(), want) {
			t.Errorf("events: %s", res.said())
		}
	})
}

func TestAgent_wrongFinish(t *testing.T) {
	t.Parallel()
	bubble(t, "length", func(t *testing.T, d Dialect) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{{Text: "half an answer", Finish: lengthWord[d]}}})
		res := play(t, Config{Dialect: d, Transport: modeltest.Transport(m)}, reviewer())
		if res.failed == nil || res.failed.Failure != providers.FailAnswer || !strings.Contains(res.failed.Text, "raise max_tokens") ||
			res.failed.Tail != "half an answer" || res.failed.Usage.Output != 40 {
			t.Errorf("failed = %+v", res.failed)
		}
	})
	bubble(t, "refusal", func(t *testing.T, d Dialect) {
		body := map[Dialect]string{
			Claude:    `{"content":[{"type":"text","text":"no"}],"stop_reason":"refusal"}`,
			Gemini:    `{"promptFeedback":{"blockReason":"SAFETY"}}`,
			Responses: `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}`,
			Chat:      `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`,
		}[d]
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{{Status: 200, Body: body}}})
		res := play(t, Config{Dialect: d, Transport: modeltest.Transport(m)}, reviewer())
		if res.failed == nil || res.failed.Failure != providers.FailModel || !strings.Contains(res.failed.Text, "would not answer") {
			t.Errorf("failed = %+v", res.failed)
		}
	})
}

// TestTooLarge: the ways in which services say that a request does not fit, as far as they are known.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	r := &run{agent: &Agent{where: "x"}}
	for body, status := range map[string]int{
		`{"error":{"message":"This model's maximum context length is 65536 tokens.","type":"invalid_request_error"}}`:                400,
		`{"error":{"message":"too much","code":"context_length_exceeded"}}`:                                                          400,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`:   400,
		`{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}`: 400,
		`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`:       400,
		`{"error":"However, the model is loaded with context length of only 4096 tokens"}`:                                           400,
		`{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 30000","code":"rate_limit_exceeded"}}`:          429,
		`{}`: 413,
	} {
		if bad := r.judge(status, http.Header{}, []byte(body)); !bad.tooLarge || bad.failure != providers.FailConfig || bad.tries != 1 {
			t.Errorf("%s: %+v", body, bad)
		}
	}
	for body, status := range map[string]int{`{"error":{"message":"maximum context length"}}`: 500, `{"error":{"message":"slow down"}}`: 429} {
		if bad := r.judge(status, http.Header{}, []byte(body)); bad.tooLarge {
			t.Errorf("%s: %+v", body, bad)
		}
	}
}

func TestAgent_quota(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		d      Dialect
		status int
		body   string
		want   providers.Failure
		retry  time.Duration
	}{
		"openai":     {Responses, 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, providers.FailQuota, 0},
		"claude":     {Claude, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, providers.FailQuota, 0},
		"gemini key": {Gemini, 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, providers.FailAuth, 0},
		"gemini rate": {
			Gemini, 429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"370s"}]}}]`,
			providers.FailRate, 370 * time.Second,
		},
		"no schema": {Chat, 400, `{"error":{"message":"'response_format.type' must be 'text'"}}`, providers.FailConfig, 0},
		"text":      {Chat, 400, `{"error":"just a text"}`, providers.FailModel, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{{Status: tc.status, Body: tc.body}}})
				res := play(t, Config{Dialect: tc.d, Transport: modeltest.Transport(m)}, reviewer())
				if res.failed == nil || res.failed.Failure != tc.want || res.failed.Retry != tc.retry {
					t.Errorf("failed = %+v, want %s after %s", res.failed, tc.want, tc.retry)
				}
			})
		})
	}
}

// TestAgent_keyIsNeverRepeated: a service that says the key back, in an error and in an answer.
func TestAgent_keyIsNeverRepeated(t *testing.T) {
	t.Parallel()
	escaped := strings.Replace(key, "s", `\u0073`, 1)
	slashed, quoted := strings.Replace(key, "/", `\/`, 1), strings.Replace(key, "/", "%2F", 1)
	bubble(t, "echo", func(t *testing.T, d Dialect) {
		for _, steps := range [][]modeltest.Step{
			{{Status: 401, Message: "wrong key " + key}},
			{{Status: 500, Message: "cannot serve " + key}},
			{{Status: 400, Body: `{"error":{"message":"wrong key ` + escaped + `"}}`}},
			{{Status: 400, Body: `{"error":{"message":"wrong key ` + slashed + `, ` + quoted + `"}}`}},
			{{Text: "prose with " + key}},
			{{Text: "stopped at " + key, Finish: "odd " + key}},
			{{Text: strings.Replace(verdict("approved", "true", "true"), "seen 1", key, 1)}},
			{{Status: 200, Body: key}},
		} {
			m := modeltest.New(modeltest.Script{Plain: true, Steps: steps})
			turn := reviewer()
			turn.Context = append(turn.Context, json.RawMessage(`{"leaked":"`+key+`"}`))
			res := play(t, Config{Dialect: d, Transport: modeltest.Transport(m)}, turn)
			tail := ""
			if res.failed != nil {
				tail = res.failed.Tail
			}
			if all := fmt.Sprint(res.log, res.said(), res.err, tail, string(res.out.Final), string(res.out.Answer), res.out.Text); strings.Contains(all, key) || strings.Contains(all, slashed) || strings.Contains(all, quoted) {
				t.Errorf("the key is repeated: %s", all)
			}
		}
	})
}

func TestAgent_noKey(t *testing.T) {
	t.Parallel()
	m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Say("x")}})
	for want, f := range map[string]func() (string, error){
		"set SOME_KEY":  func() (string, error) { return "", errors.New("set SOME_KEY") },
		"blank or anot": func() (string, error) { return "two words", nil },
	} {
		res := play(t, Config{Dialect: Claude, Transport: modeltest.Transport(m), Key: f}, reviewer())
		if res.failed == nil || res.failed.Failure != providers.FailAuth || !strings.Contains(res.failed.Text, want) || strings.Contains(res.failed.Text, "two words") {
			t.Errorf("failed = %v", res.failed)
		}
	}
	if len(m.Requests()) != 0 {
		t.Error("a request was made without a key")
	}
}

func TestAgent_unreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") })
		res := play(t, Config{Dialect: Chat, Transport: dead}, reviewer())
		if res.failed == nil || res.failed.Failure != providers.FailTransport || !strings.Contains(res.failed.Text, "chat.test cannot be reached") || res.acks() != 0 {
			t.Errorf("failed = %v", res.failed)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAgent_stopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Fail(0, 429, "Retry-After", "60")}})
		a, err := New(Config{Dialect: Claude, Model: "m", Transport: modeltest.Transport(m)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = a.Run(ctx, reviewer(), func(providers.Event) {})
		if failed, _ := errors.AsType[*providers.TurnError](err); failed == nil || failed.Failure != providers.FailKilled {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestAgent_roles(t *testing.T) {
	t.Parallel()
	plan := `{"thought":"t","status":"success","data":{"title":"t","description":"d","subtasks":[{"description":"s","estimated_lines":1}],` +
		`"acceptance_criteria":["a"],"risk_level":"low","reasons":"r"},"message":"m"}`
	m := modeltest.New(
		modeltest.Script{Match: "which port", Plain: true, Steps: []modeltest.Step{modeltest.Say(`{"thought":"t","status":"clarification_needed","data":{},"message":"Which?"}`)}},
		modeltest.Script{Match: "a prompt of its own", Plain: true, Steps: []modeltest.Step{modeltest.Say("as it is")}},
		modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Say(plan)}},
	)
	run := func(turn providers.Turn) result {
		return play(t, Config{Dialect: Gemini, Transport: modeltest.Transport(m)}, turn)
	}
	planner := providers.Turn{Task: "T-2026-001", Role: amp.Coordinator, Context: []json.RawMessage{json.RawMessage(`{"wish":{"text":"w"}}`)}}
	if res := run(planner); res.err != nil || !bytes.Contains(res.out.Final, []byte(`"acceptance_criteria":["a"]`)) || res.acks() != 0 {
		t.Errorf("planner: %s, %v", res.out.Final, res.err)
	}
	planner.Context = []json.RawMessage{json.RawMessage(`{"wish":{"text":"which port"}}`)}
	if res := run(planner); res.err != nil || res.out.Question != "Which?" || res.out.Final != nil {
		t.Errorf("question: %+v, %v", res.out, res.err)
	}
	planner.Prompt = &providers.Prompt{System: "s", Text: "a prompt of its own"}
	if res := run(planner); res.err != nil || res.out.Text != "as it is" || res.out.Final != nil {
		t.Errorf("prompt: %+v, %v", res.out, res.err)
	}
	if res := run(providers.Turn{Role: amp.Executor, Message: json.RawMessage(`{}`)}); res.failed == nil || res.failed.Failure != providers.FailConfig {
		t.Errorf("executor: %v", res.err)
	}
}
