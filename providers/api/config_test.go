package api

import (
	"net/http"
	"strings"
	"testing"
)

func TestConfig_validate(t *testing.T) {
	t.Parallel()
	withKey := func() (string, error) { return key, nil }
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"dialect":   {Config{Dialect: "gopher", Model: "m", URL: "https://x.test"}, "none of claude"},
		"model":     {Config{Dialect: Claude}, "no model"},
		"url":       {Config{Dialect: Chat, Model: "m"}, "name the service's"},
		"relative":  {Config{Dialect: Chat, Model: "m", URL: "host/v1"}, "no address"},
		"userinfo":  {Config{Dialect: Chat, Model: "m", URL: "https://u:pass@x.test"}, "name or password"},
		"open":      {Config{Dialect: Chat, Model: "m", URL: "http://x.test", Key: withKey}, "in the open"},
		"query":     {Config{Dialect: Chat, Model: "m", URL: "https://x.test?key=1"}, "query"},
		"schema":    {Config{Dialect: Claude, Model: "m", Enforcement: JSONObject}, "chat completions alone"},
		"schema 2":  {Config{Dialect: Chat, Model: "m", URL: "https://x.test", Enforcement: "grammar"}, "none of json_schema"},
		"tokens":    {Config{Dialect: Claude, Model: "m", MaxTokens: 9000, ContextTokens: 8000}, "no room"},
		"local":     {Config{Dialect: Chat, Model: "m", URL: "http://127.0.0.1:1/v1", Key: withKey}, ""},
		"lan":       {Config{Dialect: Chat, Model: "m", URL: "http://10.0.0.9:1234/v1"}, ""},
		"by itself": {Config{Dialect: Gemini, Model: "m", Key: withKey}, ""},
	} {
		_, err := New(tc.c)
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "pass@")) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":-1}}`, `{"choices":[{}]}`, `{"candidates":[{}]}`,
		`{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"status":"completed"}`, `[{"error":"x"}]`, `{"error":{"code":1}}`,
	} {
		f.Add([]byte(seed))
	}
	r := &run{agent: &Agent{where: "x"}, key: key}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range dialects {
			a, err := d.read(body)
			if err != nil {
				continue
			}
			if u := a.usage; u.Input < 0 || u.Cached < 0 || u.CacheWrite < 0 || u.Output < 0 {
				t.Errorf("usage = %+v", u)
			}
			if a.well == (r.accept(&a) != nil) && strings.TrimSpace(a.text) != "" && !a.refused {
				t.Errorf("an answer that is well: %v, is accepted: %v", a.well, !a.well)
			}
		}
		if bad := r.judge(429, http.Header{}, body); bad.wait < 0 || len(bad.text) > 3000 {
			t.Errorf("trouble = %+v", bad)
		}
	})
}
