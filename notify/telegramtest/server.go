// Package telegramtest is a Bot API server for tests: it keeps chats as Telegram does, is as strict as Telegram where the notifications
// depend on it, and plays people who press buttons and write, strangers, outages and limits.
package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Message is a message of the bot as its chat shows it now.
type Message struct {
	Chat, ID int64
	// Text is without marks, HTML as it was sent.
	Text, HTML string
	Buttons    []Button
	// ReplyTo is the message that it answers, Force says that it asks for a reply, Edits how often it was changed.
	ReplyTo int64
	Force   bool
	Edits   int
}

// Button is one button of a message.
type Button struct{ Label, Data string }

// Answer is what a press was answered.
type Answer struct{ ID, Text string }

// Server is the Bot API of one bot. It serves HTTP, and is a transport that needs no socket. It is safe for concurrent use.
type Server struct {
	token string

	mu         sync.Mutex
	changed    chan struct{}
	messages   []*Message
	answers    []Answer
	updates    []update
	lastID     int64
	all        []update
	nextUpdate int64
	calls      map[string]int
	faults     []fault
	down       bool
	unknown    int
	slow       time.Duration
}

type update struct {
	ID   int64
	Data map[string]any
}

// fault is one answer that is no result.
type fault struct {
	method string
	code   int
	after  int
	// lost says that the call takes effect and its answer is lost.
	lost bool
}

// New returns a server for the bot with this token.
func New(token string) *Server {
	return &Server{token: token, changed: make(chan struct{}), calls: map[string]int{}, lastID: 100}
}

var _ http.RoundTripper = (*Server)(nil)

// RoundTrip serves a request without a socket, so that it can be used where time is not real.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, fmt.Errorf("dial %s: connection refused", req.URL) // as net/http does, with all of the address
	}
	w := httptest.NewRecorder()
	lost := s.serve(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	lost = lost || s.down
	s.mu.Unlock()
	if lost {
		return nil, fmt.Errorf("read %s: connection reset by peer", req.URL)
	}
	return w.Result(), nil
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.serve(w, req) }

func (s *Server) serve(w http.ResponseWriter, req *http.Request) (lost bool) {
	rest, ok := strings.CutPrefix(req.URL.Path, "/bot")
	token, method, two := strings.Cut(rest, "/")
	if !ok || !two || token != s.token {
		s.mu.Lock()
		s.unknown++
		s.mu.Unlock()
		fail(w, http.StatusNotFound, "Not Found", 0)
		return false
	}
	data, err := io.ReadAll(req.Body)
	var in input
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(data)).Decode(&in)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "Bad Request: can't parse JSON", 0)
		return false
	}
	s.mu.Lock()
	s.calls[method]++
	s.wake()
	if i := slices.IndexFunc(s.faults, func(f fault) bool { return f.method == method }); i >= 0 {
		f := s.faults[i]
		s.faults = slices.Delete(s.faults, i, i+1)
		if !f.lost {
			s.mu.Unlock()
			fail(w, f.code, map[int]string{429: "Too Many Requests: retry later"}[f.code], f.after)
			return false
		}
		lost = true
	}
	s.mu.Unlock()
	switch method {
	case "getMe":
		good(w, map[string]any{"id": 1, "is_bot": true, "username": "arbiter_test_bot"})
	case "getUpdates":
		good(w, s.poll(req.Context(), in.Offset, in.Limit, time.Duration(in.Timeout)*time.Second))
	case "sendMessage":
		s.send(w, &in)
		s.dawdle(req.Context())
	case "editMessageText":
		s.edit(w, &in)
		s.dawdle(req.Context())
	case "answerCallbackQuery":
		s.mu.Lock()
		s.answers = append(s.answers, Answer{in.CallbackID, in.Text})
		s.wake()
		s.mu.Unlock()
		good(w, true)
	default:
		fail(w, http.StatusNotFound, "Not Found: method not found", 0)
	}
	return lost
}

// dawdle holds an answer back.
func (s *Server) dawdle(ctx context.Context) {
	s.mu.Lock()
	timer := time.NewTimer(s.slow)
	s.mu.Unlock()
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// input is what the methods take.
type input struct {
	Offset     int64  `json:"offset"`
	Limit      int    `json:"limit"`
	Timeout    int    `json:"timeout"`
	ChatID     int64  `json:"chat_id"`
	MessageID  int64  `json:"message_id"`
	Text       string `json:"text"`
	ParseMode  string `json:"parse_mode"`
	CallbackID string `json:"callback_query_id"`
	Markup     *struct {
		Keyboard [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
		Force bool `json:"force_reply"`
	} `json:"reply_markup"`
	Reply struct {
		MessageID int64 `json:"message_id"`
	} `json:"reply_parameters"`
}

func good(w http.ResponseWriter, result any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func fail(w http.ResponseWriter, code int, text string, after int) {
	w.WriteHeader(code)
	body := map[string]any{"ok": false, "error_code": code, "description": text}
	if after > 0 {
		body["parameters"] = map[string]any{"retry_after": after}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// wake tells who waits that something changed; s.mu is held.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// poll waits for updates from offset on, and forgets those before it.
func (s *Server) poll(ctx context.Context, offset int64, limit int, timeout time.Duration) []map[string]any {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		s.mu.Lock()
		s.updates = slices.DeleteFunc(s.updates, func(u update) bool { return u.ID < offset })
		out := []map[string]any{}
		for _, u := range s.updates {
			if len(out) < limit {
				out = append(out, u.Data)
			}
		}
		changed, down := s.changed, s.down
		s.mu.Unlock()
		if len(out) > 0 || down {
			return out
		}
		select {
		case <-changed:
		case <-timer.C:
			return out
		case <-ctx.Done():
			return out
		}
	}
}

var tag = regexp.MustCompile(`<(/?)([a-z]+)>`)

// parse reads Telegram's HTML as strictly as Telegram does.
func parse(text string) (string, error) {
	var open []string
	rest := text
	var plain strings.Builder
	for {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			break
		}
		m := tag.FindStringSubmatch(rest[i:])
		if m == nil || !strings.HasPrefix(rest[i:], m[0]) || !slices.Contains([]string{"b", "i", "code", "pre"}, m[2]) {
			return "", fmt.Errorf("unsupported start tag at byte %d", len(text)-len(rest)+i)
		}
		plain.WriteString(rest[:i])
		rest = rest[i+len(m[0]):]
		if m[1] == "" {
			open = append(open, m[2])
		} else if len(open) == 0 || open[len(open)-1] != m[2] {
			return "", fmt.Errorf("unexpected end tag %s", m[2])
		} else {
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("tag %s is not closed", open[0])
	}
	return html.UnescapeString(plain.String() + rest), nil
}

// read checks what a message says.
func read(in *input) (text string, buttons []Button, why string) {
	text, err := parse(in.Text)
	switch n := len(utf16.Encode([]rune(text))); {
	case in.ParseMode != "HTML":
		why = "only HTML is spoken here"
	case err != nil:
		why = "can't parse entities: " + err.Error()
	case strings.TrimSpace(text) == "":
		why = "message text is empty"
	case n > 4096:
		why = "message is too long"
	}
	if in.Markup == nil {
		return text, nil, why
	}
	for _, row := range in.Markup.Keyboard {
		for _, k := range row {
			if len(k.Data) == 0 || len(k.Data) > 64 {
				why = "BUTTON_DATA_INVALID"
			}
			buttons = append(buttons, Button{k.Text, k.Data})
		}
	}
	return text, buttons, why
}

func (s *Server) send(w http.ResponseWriter, in *input) {
	text, buttons, why := read(in)
	if why != "" {
		fail(w, http.StatusBadRequest, "Bad Request: "+why, 0)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	m := &Message{Chat: in.ChatID, ID: s.lastID, Text: text, HTML: in.Text, Buttons: buttons, ReplyTo: in.Reply.MessageID, Force: in.Markup != nil && in.Markup.Force}
	s.messages = append(s.messages, m)
	s.wake()
	good(w, map[string]any{"message_id": m.ID, "chat": map[string]any{"id": m.Chat}})
}

func (s *Server) edit(w http.ResponseWriter, in *input) {
	text, buttons, why := read(in)
	if why != "" {
		fail(w, http.StatusBadRequest, "Bad Request: "+why, 0)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(in.ChatID, in.MessageID)
	switch {
	case m == nil:
		fail(w, http.StatusBadRequest, "Bad Request: message to edit not found", 0)
		return
	case m.HTML == in.Text && slices.Equal(m.Buttons, buttons):
		fail(w, http.StatusBadRequest, "Bad Request: message is not modified", 0)
		return
	}
	m.Text, m.HTML, m.Buttons = text, in.Text, buttons
	m.Edits++
	s.wake()
	good(w, map[string]any{"message_id": m.ID, "chat": map[string]any{"id": m.Chat}})
}

func (s *Server) find(chat, id int64) *Message {
	if i := slices.IndexFunc(s.messages, func(m *Message) bool { return m.Chat == chat && m.ID == id }); i >= 0 {
		return s.messages[i]
	}
	return nil
}
