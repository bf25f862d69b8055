package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"arbiter/providers/modeltest"
)

// api is a client of one dialect: its path, the request that follows a history, and what a whole answer says.
type api struct {
	path    string
	request func(tools []string, history []said, stream bool) object
	read    func(body []byte) said
	finish  string // the member that ends a stream
}

type (
	object = map[string]any
	// said is a text or a call of the model; result tells whether the tool's answer follows.
	said struct{ text, id, tool string }
)

func list[T any](in []T, f func(T) any) []any {
	out := []any{}
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

var apis = map[string]api{
	"responses": {
		path: "/v1/responses", finish: "response.completed",
		request: func(tools []string, history []said, stream bool) object {
			input := []any{object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": "go"}}}}
			for _, s := range history {
				if s.id != "" {
					input = append(input, object{"type": "function_call", "call_id": s.id, "name": s.tool, "arguments": "{}"},
						object{"type": "function_call_output", "call_id": s.id, "output": "ok"})
				} else {
					input = append(input, object{"role": "assistant", "content": []object{{"type": "output_text", "text": s.text}}})
				}
			}
			return object{"model": "m", "stream": stream, "input": input, "tools": list(tools, func(name string) any {
				return object{"type": "function", "name": name}
			})}
		},
		read: func(body []byte) (s said) {
			var a struct {
				Output []struct {
					Content []struct{ Text string }
					CallID  string `json:"call_id"`
					Name    string
				}
			}
			json.Unmarshal(body, &a)
			for _, o := range a.Output {
				s.id, s.tool = o.CallID, o.Name
				for _, c := range o.Content {
					s.text += c.Text
				}
			}
			return s
		},
	},
	"chat": {
		path: "/any/prefix/v1/chat/completions", finish: "[DONE]",
		request: func(tools []string, history []said, stream bool) object {
			messages := []any{object{"role": "user", "content": "go"}}
			for _, s := range history {
				if s.id != "" {
					messages = append(messages, object{"role": "assistant", "tool_calls": []object{
						{"id": s.id, "function": object{"name": s.tool, "arguments": "{}"}},
					}}, object{"role": "tool", "tool_call_id": s.id, "content": "ok"})
				} else {
					messages = append(messages, object{"role": "assistant", "content": s.text})
				}
			}
			return object{"model": "m", "stream": stream, "messages": messages, "tools": list(tools, func(name string) any {
				return object{"type": "function", "function": object{"name": name}}
			})}
		},
		read: func(body []byte) (s said) {
			var a struct {
				Choices []struct {
					Message struct {
						Content   string
						ToolCalls []struct {
							ID       string
							Function struct{ Name string }
						} `json:"tool_calls"`
					}
				}
			}
			json.Unmarshal(body, &a)
			for _, c := range a.Choices {
				s.text = c.Message.Content
				for _, t := range c.Message.ToolCalls {
					s.id, s.tool = t.ID, t.Function.Name
				}
			}
			return s
		},
	},
	"messages": {
		path: "/v1/messages", finish: "message_stop",
		request: func(tools []string, history []said, stream bool) object {
			messages := []any{object{"role": "user", "content": "go"}}
			for _, s := range history {
				if s.id != "" {
					messages = append(messages, object{"role": "assistant", "content": []object{
						{"type": "tool_use", "id": s.id, "name": s.tool, "input": object{}},
					}}, object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": s.id, "content": "ok"}}})
				} else {
					messages = append(messages, object{"role": "assistant", "content": []object{{"type": "text", "text": s.text}}})
				}
			}
			return object{"model": "m", "stream": stream, "messages": messages, "tools": list(tools, func(name string) any {
				return object{"name": name}
			})}
		},
		read: func(body []byte) (s said) {
			var a struct {
				Content []struct{ Text, ID, Name string }
			}
			json.Unmarshal(body, &a)
			for _, c := range a.Content {
				s.text, s.id, s.tool = s.text+c.Text, c.ID, c.Name
			}
			return s
		},
	},
	"gemini": {
		path: "/v1beta/models/m:generateContent", finish: "usageMetadata",
		request: func(tools []string, history []said, _ bool) object {
			contents := []any{object{"role": "user", "parts": []object{{"text": "go"}}}}
			for _, s := range history {
				if s.id != "" { // real programs lose the id here
					contents = append(contents, object{"role": "model", "parts": []object{{"functionCall": object{"name": s.tool, "args": object{"x": 1}}}}})
				} else {
					contents = append(contents, object{"role": "model", "parts": []object{{"text": s.text[:1]}, {"text": s.text[1:]}}})
				}
			}
			return object{"contents": contents, "tools": []object{{"functionDeclarations": list(tools, func(name string) any {
				return object{"name": name}
			})}}}
		},
		read: func(body []byte) (s said) {
			var a struct {
				Candidates []struct {
					Content struct {
						Parts []struct {
							Text         string
							FunctionCall struct{ ID, Name string }
						}
					}
				}
			}
			json.Unmarshal(body, &a)
			for _, c := range a.Candidates {
				for _, p := range c.Content.Parts {
					s.text, s.id, s.tool = s.text+p.Text, p.FunctionCall.ID, p.FunctionCall.Name
				}
			}
			return s
		},
	},
}

// ask posts one request and returns the status and the body, and what broke it off.
func ask(t *testing.T, m http.Handler, path string, request object) (int, http.Header, []byte, error) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: modeltest.Transport(m)}
	resp, err := c.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

func TestModel_steps(t *testing.T) {
	t.Parallel()
	for name, d := range apis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(modeltest.Script{Steps: []modeltest.Step{
				{Calls: []modeltest.Call{{Tool: "absent", Input: json.RawMessage(`{}`)}, {Tool: "write", Input: json.RawMessage(`{"x":1}`)}}},
				modeltest.Fail(2, 429, "Retry-After", "7"),
				modeltest.Cut(1, "never read to its end"),
				modeltest.Say("the answer"),
				modeltest.UseTool("absent", object{}),
			}})
			tools := []string{"read", "write"}
			var history []said
			next := func() said {
				t.Helper()
				status, _, body, err := ask(t, m, d.path, d.request(tools, history, false))
				if err != nil || status != 200 {
					t.Fatalf("%d, %v: %s", status, err, body)
				}
				return d.read(body)
			}
			call := next()
			if call.tool != "write" || call.id == "" {
				t.Fatalf("call = %+v", call)
			}
			if again := next(); again != call {
				t.Errorf("the same request got %+v, then %+v", call, again)
			}
			history = append(history, call)
			for range 2 {
				status, header, body, err := ask(t, m, d.path, d.request(tools, history, false))
				if err != nil || status != 429 || header.Get("Retry-After") != "7" || !json.Valid(body) || !bytes.Contains(body, []byte(`"error"`)) {
					t.Errorf("%d %v %v: %s", status, header, err, body)
				}
			}
			if _, _, body, err := ask(t, m, d.path, d.request(tools, history, false)); !errors.Is(err, io.ErrUnexpectedEOF) || json.Valid(body) {
				t.Errorf("cut: %v: %s", err, body)
			}
			text := next()
			if text.text != "the answer" {
				t.Errorf("text = %+v", text)
			}
			if side := func() said {
				_, _, body, _ := ask(t, m, d.path, d.request(nil, history, false))
				return d.read(body)
			}(); side.text != modeltest.Side {
				t.Errorf("a request without tools got %+v", side)
			}
			history = append(history, text)
			if s := next(); !strings.Contains(s.text, "absent") || !strings.Contains(s.text, "read, write") {
				t.Errorf("no tool offered: %+v", s)
			} else {
				history = append(history, s)
			}
			if s := next(); !strings.Contains(s.text, "no step 5") {
				t.Errorf("behind the last step: %+v", s)
			}
			history = nil
			if s := next(); s != call {
				t.Errorf("a session without its history got %+v", s)
			}
			var steps []int
			for _, r := range m.Requests() {
				steps = append(steps, r.Step)
			}
			if want := []int{0, 0, 1, 1, 2, 3, -1, 4, 5, 0}; !equal(steps, want) {
				t.Errorf("steps = %v, want %v", steps, want)
			}
		})
	}
}

func equal(a, b []int) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestModel_streams(t *testing.T) {
	t.Parallel()
	for name, d := range apis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modeltest.New(
				modeltest.Script{Match: "cutting", Steps: []modeltest.Step{modeltest.Cut(0, "one two three")}},
				modeltest.Script{Steps: []modeltest.Step{{Text: "one two three", Calls: []modeltest.Call{{Tool: "write", Input: json.RawMessage(`{"x":1}`)}}}}},
			)
			path := strings.Replace(d.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
			_, header, body, err := ask(t, m, path, d.request([]string{"write"}, nil, true))
			if err != nil || header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%v, %v", err, header)
			}
			for line := range strings.Lines(string(body)) {
				if data, ok := strings.CutPrefix(line, "data: "); ok && !json.Valid([]byte(data)) && data != "[DONE]\n" {
					t.Errorf("no JSON: %s", data)
				}
			}
			for _, want := range []string{`"one two`, ` three"`, "call_mt_1_0", `"write"`, d.finish} {
				if !bytes.Contains(body, []byte(want)) {
					t.Errorf("the stream lacks %s:\n%s", want, body)
				}
			}
			_, _, body, err = ask(t, m, path, d.request([]string{"write", "cutting"}, nil, true))
			if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Contains(body, []byte("one two")) || bytes.Contains(body, []byte(d.finish)) {
				t.Errorf("cut: %v\n%s", err, body)
			}
		})
	}
}

func TestModel_rest(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(t, modeltest.Script{Plain: true, Steps: []modeltest.Step{
		{Status: 200, Body: "no JSON", Times: 1},
		{TextFrom: func(r modeltest.Request) string { return "key " + r.Header.Get("X-Api-Key") }},
	}})
	for path, want := range map[string]string{
		"/v1/models": `"scripted"`, "/v1beta/models": `"models/scripted"`, "/v1/messages/count_tokens": `"input_tokens"`,
		"/v1beta/models/m:countTokens": `"totalTokens"`, "/nothing": "does not speak",
	} {
		method := http.MethodPost
		if strings.HasSuffix(path, "models") {
			method = http.MethodGet
		}
		if body := fetch(t, method, s.URL()+path, "{}"); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if body := fetch(t, http.MethodPost, s.URL()+"/v1/messages", `{"messages":[]}`); body != "no JSON" {
		t.Errorf("body = %s", body)
	}
	if body := fetch(t, http.MethodPost, s.URL()+"/v1/messages", `{"messages":[]}`); !strings.Contains(body, "key k-1") {
		t.Errorf("body = %s", body)
	}
	if n := len(s.Requests()); n != 7 {
		t.Errorf("%d requests", n)
	}
	if _, err := modeltest.Listen("0.0.0.0:0"); err == nil {
		t.Error("it serves another address than loopback")
	}
}

func fetch(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "k-1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return string(answer)
}

func TestModel_hangs(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(t, modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Hang()}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(`{}`))
		_, err := http.DefaultClient.Do(r)
		gone <- err
	}()
	if err := s.Await(ctx, func(r []modeltest.Request) bool { return len(r) == 1 && r[0].Step == 0 }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone:
		t.Fatalf("it answered: %v", err)
	default:
	}
	s.Close()
	if err := <-gone; err == nil {
		t.Error("it answered at the end")
	}
}
