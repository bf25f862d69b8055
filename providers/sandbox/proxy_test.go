//go:build linux || darwin

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const realKey = "sk-real-0123456789abcdef"

func keyOf() (string, error) { return realKey, nil }

// model is a service that answers with f, and a cage without confinement whose proxy leads there.
func model(t *testing.T, change func(*Leash), f http.HandlerFunc) *Cage {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	l := Leash{Mode: Off, Model: Model{URL: server.URL + "/v1", Key: keyOf}}
	if change != nil {
		change(&l)
	}
	c, err := l.Open(t.Context(), "turn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ask sends a request to the proxy and reads the whole answer.
func ask(t *testing.T, method, url string, body io.Reader, header ...string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err.Error()
	}
	return res.StatusCode, string(b)
}

// raw sends bytes to the proxy and reads the status line.
func raw(t *testing.T, c *Cage, text string) string {
	t.Helper()
	u, _ := url.Parse(c.URL())
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(strings.ReplaceAll(text, "PREFIX", u.Path), "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimSpace(line)
}

func TestProxy_key(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"": "Authorization", "authorization": "Authorization", "x-api-key": "X-Api-Key", "x-goog-api-key": "X-Goog-Api-Key"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			c := model(t, func(l *Leash) { l.Model.Header = header }, func(_ http.ResponseWriter, r *http.Request) { got = r })
			status, text := ask(t, "POST", c.URL()+"/messages?key=mine&alt=sse&access_token=mine", strings.NewReader("{}"),
				"Authorization", "Bearer mine", "x-api-key", "mine", "x-goog-api-key", "mine", "X_Api_Key", "mine", "Cookie", "a=mine",
				"Proxy-Authorization", "mine", "X-Forwarded-For", "1.2.3.4", "anthropic-version", "2023-06-01", "Connection", want,
				"Connection", "anthropic-version2", "X-HTTP-Method-Override", "DELETE")
			if status != http.StatusOK {
				t.Fatal(status, text)
			}
			value := realKey
			if want == "Authorization" {
				value = "Bearer " + realKey
			}
			if got.Header.Get(want) != value || got.Header.Get("anthropic-version") != "2023-06-01" {
				t.Errorf("headers are %v", got.Header)
			}
			if all := fmt.Sprint(got.Header, got.URL); strings.Contains(all, "mine") || strings.Contains(all, "1.2.3.4") || strings.Contains(all, "DELETE") {
				t.Errorf("of the program's came through: %s", all)
			}
			if got.URL.RequestURI() != "/v1/messages?alt=sse" {
				t.Errorf("it asked for %s", got.URL)
			}
		})
	}
}

func TestProxy_paths(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	c := model(t, func(l *Leash) { l.Model.Paths = []string{"/messages", "/models/*", ""} }, func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
	})
	for path, want := range map[string]string{
		"/messages": "200", "/models/x": "200", "/models/x:generate": "200", "": "200",
		"/admin": "403", "/messages/x": "403", "/models": "403", "/models/../admin": "403", "/models/%2e%2e/admin": "403",
		"/models/..%2fadmin": "403", "/models/%252e%252e/admin": "403", "/models//x": "403", "/models/./x": "403", `/models/..\admin`: "400 or 403",
		"/models/%5c..": "403", "/models/x%00": "403", "/models/x%0d%0aX: y": "400 or 403", "/../admin": "403", "/models/x;y": "403", "/models/é": "403",
	} {
		line := raw(t, c, "GET PREFIX"+path+" HTTP/1.1\nHost: x\nConnection: close\n\n")
		if code := strings.Fields(line + " ? ?")[1]; !strings.Contains(want, code) {
			t.Errorf("%s: %q, want %s", path, line, want)
		}
	}
	u, _ := url.Parse(c.URL())
	for what, text := range map[string]string{
		"without the prefix": "GET /v1/messages HTTP/1.1\nHost: x\n\n", "another prefix": "GET /ABC/v1/messages HTTP/1.1\nHost: x\n\n",
		"above the address": "GET " + strings.TrimSuffix(u.Path, "/v1") + "/messages HTTP/1.1\nHost: x\n\n",
		"connect":           "CONNECT example.com:443 HTTP/1.1\nHost: example.com\n\n",
		"absolute":          "GET http://example.com/v1/messages HTTP/1.1\nHost: example.com\n\n",
		"absolute, ours":    "GET http://" + u.Host + "PREFIX/messages HTTP/1.1\nHost: x\n\n",
		"another method":    "DELETE PREFIX/messages HTTP/1.1\nHost: x\n\n",
		"upgrade":           "GET PREFIX/messages HTTP/1.1\nHost: x\nConnection: upgrade\nUpgrade: websocket\n\n",
		"two lengths":       "POST PREFIX/messages HTTP/1.1\nHost: x\nContent-Length: 1\nContent-Length: 2\n\nab",
		"bad encoding":      "POST PREFIX/messages HTTP/1.1\nHost: x\nTransfer-Encoding: chunked, identity\n\n0\n\n",
		"two hosts":         "GET PREFIX/messages HTTP/1.1\nHost: x\nHost: y\n\n",
		"space in a name":   "GET PREFIX/messages HTTP/1.1\nHost: x\nX-Api-Key : z\n\n",
		"folded":            "GET PREFIX/messages HTTP/1.1\nHost: x\n y: z\n\n",
		"huge headers":      "GET PREFIX/messages HTTP/1.1\nHost: x\nA: " + strings.Repeat("x", 2*maxHeader) + "\n\n",
	} {
		if line := raw(t, c, text); line != "" && !strings.HasPrefix(line, "HTTP/1.1 4") && !strings.HasPrefix(line, "HTTP/1.1 501") {
			t.Errorf("%s: %q", what, line)
		}
	}
	close(asked)
	n := 0
	for path := range asked {
		if n++; path != "/v1" && path != "/v1/messages" && !strings.HasPrefix(path, "/v1/models/x") {
			t.Errorf("the model was asked for %s", path)
		}
	}
	if n != 4 {
		t.Errorf("the model was asked %d times, want 4", n)
	}
}

// Events reach the program one by one.
func TestProxy_streams(t *testing.T) {
	t.Parallel()
	next := make(chan bool)
	c := model(t, func(l *Leash) { l.Meter = func(Used) error { return nil } }, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d sk-real-\n\n", i) // as the key begins
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL()+"/messages", strings.NewReader("{}"))
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	br := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := br.ReadString('\n')
		if want := fmt.Sprintf("data: %d sk-real-\n", i); line != want || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		next <- true
		if _, err := br.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProxy_trouble(t *testing.T) {
	t.Parallel()
	t.Run("an error passes", func(t *testing.T) {
		t.Parallel()
		c := model(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "no use for key "+realKey, http.StatusInternalServerError)
		})
		status, text := ask(t, "POST", c.URL()+"/messages", nil)
		if status != http.StatusInternalServerError || !strings.Contains(text, "no use for key ****") || strings.Contains(text, realKey) {
			t.Errorf("%d %q", status, text)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		c := model(t, func(l *Leash) { l.Model.URL = "http://" + address }, nil)
		if status, text := ask(t, "POST", c.URL()+"/messages", nil); status != http.StatusBadGateway || strings.Contains(text, address) {
			t.Errorf("%d %q", status, text)
		}
	})
	t.Run("a hang ends with the cage", func(t *testing.T) {
		t.Parallel()
		came, gone := make(chan bool), make(chan bool)
		c := model(t, nil, func(_ http.ResponseWriter, r *http.Request) { close(came); <-r.Context().Done(); close(gone) })
		ended := make(chan string)
		go func() { _, text := ask(t, "POST", c.URL()+"/messages", nil); ended <- text }()
		<-came
		c.Close()
		<-gone
		<-ended
		if err := c.Stopped(); err != nil {
			t.Errorf("a closed cage was stopped: %v", err)
		}
	})
	t.Run("a stop says why", func(t *testing.T) {
		t.Parallel()
		came := make(chan bool)
		c := model(t, nil, func(_ http.ResponseWriter, r *http.Request) { close(came); <-r.Context().Done() })
		ended := make(chan string)
		go func() { _, text := ask(t, "POST", c.URL()+"/messages", nil); ended <- text }()
		<-came
		c.Stop("the admin said so")
		if text := <-ended; !strings.Contains(text, "the admin said so") {
			t.Errorf("the program is told %q", text)
		}
		if status, text := ask(t, "POST", c.URL()+"/messages", nil); status != http.StatusForbidden || !strings.Contains(text, "the admin said so") {
			t.Errorf("%d %q", status, text)
		}
		<-c.Ended()
		if _, ok := errors.AsType[*StoppedError](c.Stopped()); !ok {
			t.Errorf("stopped by %v", c.Stopped())
		}
	})
	t.Run("a key that cannot be read", func(t *testing.T) {
		t.Parallel()
		c := model(t, func(l *Leash) { l.Model.Key = func() (string, error) { return "", errors.New("locked: hunter2") } }, func(http.ResponseWriter, *http.Request) {
			t.Error("the model was asked without a key")
		})
		if status, text := ask(t, "POST", c.URL()+"/messages", nil); status != http.StatusForbidden || strings.Contains(text, "hunter2") {
			t.Errorf("%d %q", status, text)
		}
		if c.Stopped() == nil {
			t.Error("the cage is open")
		}
	})
	t.Run("a redirect is not followed", func(t *testing.T) {
		t.Parallel()
		c := model(t, nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusFound)
		})
		if line := raw(t, c, "GET PREFIX/x HTTP/1.1\nHost: x\nConnection: close\n\n"); !strings.Contains(line, "302") {
			t.Error(line)
		}
	})
	for _, address := range []string{"ftp://x/", "https://", "https://user:pass@x/v1", "https://x/v1?key=1", "x"} {
		if _, err := (Leash{Model: Model{URL: address, Key: keyOf}}).Open(t.Context(), "turn"); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestProxy_sizes(t *testing.T) {
	t.Parallel()
	c := model(t, nil, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		fmt.Fprintln(w, n)
		if r.Method == http.MethodGet {
			io.CopyN(w, zeros{}, 64<<20)
		}
	})
	if status, text := ask(t, "POST", c.URL()+"/a", io.LimitReader(zeros{}, 20<<20)); status != http.StatusOK || text != fmt.Sprintln(20<<20) {
		t.Errorf("20 MiB: %d %.100q", status, text)
	}
	if status, text := ask(t, "GET", c.URL()+"/a", nil); status != http.StatusOK || len(text) < 64<<20 {
		t.Errorf("an answer of 64 MiB: %d, %d bytes", status, len(text))
	}
	if status, text := ask(t, "POST", c.URL()+"/a", io.LimitReader(zeros{}, maxRequest+1)); status == http.StatusOK {
		t.Errorf("too much: %d %.100q", status, text)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestProxy_caps(t *testing.T) {
	t.Parallel()
	answerOK := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"model":"m","usage":{"input_tokens":10,"output_tokens":5}}`)
	}
	var used Used
	var mu sync.Mutex
	for name, tc := range map[string]struct {
		change func(*Leash)
		passes int
		why    string
	}{
		"requests": {func(l *Leash) { l.Caps.Requests = 3 }, 3, "3 requests"},
		"bytes":    {func(l *Leash) { l.Caps.Bytes = 200 }, 2, "200 bytes"},
		"meter": {func(l *Leash) {
			l.Meter = func(u Used) error {
				mu.Lock()
				defer mu.Unlock()
				if used.Input += u.Input; used.Input >= 40 {
					return errors.New("40 tokens were spent")
				}
				return nil
			}
		}, 4, "40 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := model(t, tc.change, answerOK)
			passed := 0
			for range 10 {
				status, text := ask(t, "POST", c.URL()+"/a", strings.NewReader("0123456789"))
				if status == http.StatusOK && strings.HasSuffix(text, "}}") {
					passed++
				}
			}
			if passed != tc.passes {
				t.Errorf("%d requests passed, want %d", passed, tc.passes)
			}
			status, text := ask(t, "POST", c.URL()+"/a", nil)
			if status != http.StatusForbidden || !strings.Contains(text, tc.why) {
				t.Errorf("then %d %q", status, text)
			}
			if err := c.Stopped(); err == nil || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("stopped by %v", err)
			}
		})
	}
}

func TestProxy_log(t *testing.T) {
	t.Parallel()
	c := model(t, nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	var log bytes.Buffer
	c.Log(&log)
	ask(t, "POST", c.URL()+"/messages?key=mine", strings.NewReader("{}"), "Authorization", "Bearer mine")
	ask(t, "GET", strings.TrimSuffix(c.URL(), "/v1")+"/etc/mine", nil)
	c.Close()
	text := log.String()
	if !strings.Contains(text, "POST /v1/messages 200, 5 bytes") || !strings.Contains(text, "GET … 403") || strings.Count(text, "\n") != 2 {
		t.Errorf("the log is %q", text)
	}
	if strings.Contains(text, "mine") || strings.Contains(text, realKey) || strings.Contains(text, c.proxy.prefix) {
		t.Errorf("the log says too much: %q", text)
	}
}

func TestProxy_parallel(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			key := fmt.Sprintf("sk-turn-%08d", i)
			c := model(t, func(l *Leash) { l.Model.Key = func() (string, error) { return key, nil } }, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Header.Get("Authorization") == "Bearer "+key)
			})
			for range 5 {
				if status, text := ask(t, "POST", c.URL()+"/x", nil); status != http.StatusOK || text != "true" {
					t.Errorf("turn %d: %d %q", i, status, text)
				}
			}
		})
	}
	all.Wait()
}

func TestUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, text string
		want       Used
	}{
		"messages": {
			"application/json",
			`{"model":"c","usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":5}}`,
			Used{"c", 17, 4, 3, 5},
		},
		"messages, streamed": {"text/event-stream; charset=utf-8", "event: message_start\ndata: " +
			`{"type":"message_start","message":{"model":"c","usage":{"input_tokens":10,"output_tokens":1}}}` + "\n\nevent: message_delta\ndata: " +
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":25}}` + "\n\n", Used{"c", 10, 0, 0, 25}},
		"responses": {"application/json", `{"model":"g","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":6},"output_tokens":5,"total_tokens":15}}`, Used{"g", 10, 6, 0, 5}},
		"responses, streamed": {"text/event-stream", `data: {"type":"response.completed","response":{"model":"g","usage":{"input_tokens":10,"output_tokens":5}}}` +
			"\r\n\r\n", Used{"g", 10, 0, 0, 5}},
		"chat": {"application/json", `{"model":"d","usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`, Used{"d", 7, 1, 0, 2}},
		"chat, streamed": {"text/event-stream", `data: {"model":"d","choices":[{}],"usage":null}` + "\n\n" +
			`data: {"model":"d","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n", Used{"d", 7, 0, 0, 2}},
		"gemini":   {"application/json", `{"modelVersion":"m","usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"thoughtsTokenCount":2,"cachedContentTokenCount":1}}`, Used{"m", 8, 1, 0, 5}},
		"nonsense": {"application/json", `{"usage":{"input_tokens":"many","output_tokens":-5,"prompt_tokens":1e99}}`, Used{Input: 1e12}},
		"none":     {"application/json", `{"usage":7}`, Used{}},
		"text":     {"text/plain", `{"usage":{"input_tokens":10}}`, Used{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan Used, 2)
			c := model(t, func(l *Leash) { l.Meter = func(u Used) error { got <- u; return nil } }, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				for i := range len(tc.text) { // byte by byte: the parts of an answer end anywhere
					io.WriteString(w, tc.text[i:i+1])
					_ = http.NewResponseController(w).Flush()
				}
			})
			if _, text := ask(t, "POST", c.URL()+"/x", nil); text != tc.text {
				t.Errorf("the program got %q", text)
			}
			c.Close()
			close(got)
			if u := <-got; u != tc.want {
				t.Errorf("used %+v, want %+v", u, tc.want)
			}
			if _, more := <-got; more {
				t.Error("told twice")
			}
		})
	}
}

// Whatever the parts that an answer comes in, the key is not in it, and nothing else is changed or lost.
func FuzzHide(f *testing.F) {
	f.Add([]byte("a"+realKey+"b"), uint8(3))
	f.Add([]byte("sk-real-sk-real-0123456789abcdefsk-"), uint8(1))
	f.Add([]byte(realKey[:10]), uint8(7))
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		body := io.NopCloser(&stepReader{text, int(step)%9 + 1})
		res := &http.Response{Header: http.Header{"X": {string(text)}}, Body: body}
		hide(res, realKey)
		got, err := io.ReadAll(res.Body)
		want := strings.ReplaceAll(string(text), realKey, strings.Repeat("*", len(realKey)))
		if err != nil || string(got) != want || res.Header.Get("X") != want {
			t.Errorf("%q, %v", got, err)
		}
	})
}

type stepReader struct {
	rest []byte
	step int
}

func (s *stepReader) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.step)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Whatever an answer holds, its usage is read without harm and is never negative.
func FuzzUsed(f *testing.F) {
	f.Add([]byte(`{"model":"m","usage":{"input_tokens":1},"response":{"usage":null},"message":{}}`))
	f.Add([]byte(`{"usage":{"prompt_tokens_details":[]},"usageMetadata":{"promptTokenCount":1e400}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if u := readUsed(text); u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.CacheWrite < 0 || len(u.Model) > 1000 {
			t.Errorf("%+v", u)
		}
	})
}

// A network that swallows everything is found out once, not at every try of a program.
func TestProxy_lost(t *testing.T) {
	t.Parallel()
	p := &proxy{probed: make(chan struct{})}
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.dial(soon, "tcp", "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("before anything is known dial = %v", err)
	}
	close(p.probed)
	p.lost.Store(time.Now().UnixNano())
	conn, err := p.dial(t.Context(), "tcp", "127.0.0.1:1")
	if conn != nil || err == nil || !strings.Contains(err.Error(), "not tried again so soon") {
		t.Fatalf("dial = %v, %v", conn, err)
	}
	p.ctx = t.Context()
	if status, why := p.trouble(err); status != http.StatusGatewayTimeout || why == "" {
		t.Errorf("the program is told %d %q", status, why)
	}
	p.lost.Store(time.Now().Add(-lostFor).UnixNano())
	if _, err := p.dial(t.Context(), "tcp", "127.0.0.1:1"); err == nil || strings.Contains(err.Error(), "so soon") {
		t.Errorf("after %s it is dialled again, got %v", lostFor, err)
	}
	if time.Since(time.Unix(0, p.lost.Load())) < lostFor {
		t.Error("a refused connection counts as a lost network")
	}
}
