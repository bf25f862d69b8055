package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// telegramURL is where the Bot API is.
const telegramURL = "https://api.telegram.org"

// The bounds of a call, and of one long poll.
const (
	callTime  = 30 * time.Second
	pollTime  = 50 * time.Second
	maxAnswer = 8 << 20
	maxUpdate = 20 // updates of one poll
)

// Telegram is the bot and who may use it.
type Telegram struct {
	// Token returns the bot's token each time it is needed. It is never kept, logged, or part of an error.
	Token func() (string, error)
	// URL is the address of the Bot API, empty for Telegram's own.
	URL string
	// Chats are told what waits. People may decide, by their Telegram user id: the value is whom the journal names.
	Chats  []int64
	People map[int64]string
	// Remote lets chats give the commands that destroy work or let it out: terminate, unlock, deliver.
	Remote bool
	// Transport carries the calls; nil is a transport of its own.
	Transport http.RoundTripper
}

// Validate reports the first thing that is wrong.
func (t *Telegram) Validate() error {
	switch {
	case t.Token == nil:
		return errors.New("the bot needs a token")
	case len(t.Chats) == 0:
		return errors.New("chats is empty: nobody would be told anything")
	case t.URL != "" && !SafeURL(t.URL):
		return errors.New("url is no https address; the token would cross the network in the clear")
	}
	for id, name := range t.People {
		if id <= 0 || strings.TrimSpace(name) == "" {
			return errors.New("people holds an id that is no Telegram user id, or no name for one")
		}
	}
	return nil
}

// SafeURL reports whether an address is https, or http on this machine.
func SafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// bot speaks the Bot API.
type bot struct {
	t      *Telegram
	client *http.Client
}

func newBot(t *Telegram) *bot {
	tr := t.Transport
	if tr == nil {
		tr = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 4, IdleConnTimeout: 2 * time.Minute, TLSHandshakeTimeout: 20 * time.Second}
	}
	return &bot{t: t, client: &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is in the address
	}}
}

// longestAsked is how long Telegram is believed to want to be left alone.
const longestAsked = 24 * time.Hour

// apiError is what Telegram answered instead of a result.
type apiError struct {
	Method string
	Code   int
	Text   string
	// After is how long it wants to be left alone.
	After time.Duration
}

func (e *apiError) Error() string {
	text, _ := clean(e.Text, 200)
	return fmt.Sprintf("telegram answered %d to %s: %s", e.Code, e.Method, text)
}

// call asks one method. No error of it holds the token.
func (b *bot) call(ctx context.Context, method string, in, out any, limit time.Duration) error {
	token, err := b.t.Token()
	if err != nil {
		return err
	}
	if err := b.post(ctx, token, method, in, out, limit); err != nil {
		if _, ok := errors.AsType[*apiError](err); ok {
			return err
		}
		return redacted(method, err, token)
	}
	return nil
}

var botPath = regexp.MustCompile(`/bot[^/\s"]*`)

// redacted is a failure in words that hold neither the address nor the token.
func redacted(method string, err error, token string) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	text := strings.ReplaceAll(err.Error(), token, "(token)")
	return fmt.Errorf("telegram %s: %s", method, botPath.ReplaceAllString(strings.ReplaceAll(text, url.PathEscape(token), "(token)"), "/bot(token)"))
}

func (b *bot) post(ctx context.Context, token, method string, in, out any, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	base := telegramURL
	if b.t.URL != "" {
		base = strings.TrimRight(b.t.URL, "/")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/bot"+token+"/"+method, bytes.NewReader(data))
	if err != nil {
		return errors.New("the address or the token has a form that no request can have")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	var a struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		ErrorCode   int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(body, &a); err != nil || !a.OK {
		e := &apiError{Method: method, Code: res.StatusCode, Text: a.Description, After: min(max(time.Duration(a.Parameters.RetryAfter), 0), longestAsked/time.Second) * time.Second}
		if err != nil {
			e.Text = "no answer of the Bot API"
			if res.StatusCode == http.StatusOK { // a portal or a proxy answered: it is no word of Telegram's
				e.Code = http.StatusBadGateway
			}
		}
		return e
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Result, out)
}

// me is the bot's own name.
func (b *bot) me(ctx context.Context) (string, error) {
	var got struct {
		Username string `json:"username"`
	}
	err := b.call(ctx, "getMe", struct{}{}, &got, callTime)
	name, _ := clean(got.Username, 64)
	return name, err
}

// update is one thing that came. What is not known of it is left out.
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Callback *callback `json:"callback_query"`
}

type message struct {
	ID      int64    `json:"message_id"`
	From    *user    `json:"from"`
	Chat    chat     `json:"chat"`
	Text    string   `json:"text"`
	ReplyTo *message `json:"reply_to_message"`
}

type user struct {
	ID int64 `json:"id"`
}

type chat struct {
	ID int64 `json:"id"`
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

// updates waits for what comes, and has Telegram forget what came before offset. One that has another form than it should is handed on
// with its number only.
func (b *bot) updates(ctx context.Context, offset int64) ([]update, error) {
	var raw []json.RawMessage
	err := b.call(ctx, "getUpdates", map[string]any{
		"offset": offset, "timeout": int(pollTime / time.Second), "limit": maxUpdate, "allowed_updates": []string{"message", "callback_query"},
	}, &raw, pollTime+callTime)
	if err != nil {
		return nil, err
	}
	var out []update
	for _, r := range raw {
		var u update
		if json.Unmarshal(r, &u) != nil {
			var id struct {
				ID int64 `json:"update_id"`
			}
			_ = json.Unmarshal(r, &id) // one without a number is skipped with the next that has one
			u = update{ID: id.ID}
		}
		out = append(out, u)
	}
	return out, nil
}

// key is one button of a message.
type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// send sends a message and returns its id. reply 0 answers nothing; force asks for a reply.
func (b *bot) send(ctx context.Context, chat int64, t text, keys []key, reply int64, force bool) (int64, error) {
	in := outbound(chat, t)
	if len(keys) > 0 {
		in["reply_markup"] = keyboard(keys)
	}
	if force {
		in["reply_markup"] = map[string]any{"force_reply": true, "selective": true}
	}
	if reply != 0 {
		in["reply_parameters"] = map[string]any{"message_id": reply, "allow_sending_without_reply": true}
	}
	var got message
	err := b.call(ctx, "sendMessage", in, &got, callTime)
	if err == nil && got.ID == 0 {
		err = errors.New("telegram sendMessage: the answer names no message")
	}
	return got.ID, err
}

// edit changes a message in place.
func (b *bot) edit(ctx context.Context, chat, id int64, t text, keys []key) error {
	in := outbound(chat, t)
	in["message_id"] = id
	in["reply_markup"] = keyboard(keys)
	err := b.call(ctx, "editMessageText", in, nil, callTime)
	if e, ok := errors.AsType[*apiError](err); ok && e.Code == http.StatusBadRequest && strings.Contains(e.Text, "not modified") {
		return nil
	}
	return err
}

// answer ends the waiting of a pressed button, with words in an alert or without.
func (b *bot) answer(ctx context.Context, id, words string) error {
	words, _ = clean(words, 190)
	return b.call(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": id, "text": words, "show_alert": words != ""}, nil, callTime)
}

func outbound(chat int64, t text) map[string]any {
	return map[string]any{
		"chat_id": chat, "text": t.html(), "parse_mode": "HTML", "link_preview_options": map[string]any{"is_disabled": true},
	}
}

// keyboard is at most two buttons in a row.
func keyboard(keys []key) map[string]any {
	rows := [][]key{}
	for i := 0; i < len(keys); i += 2 {
		rows = append(rows, keys[i:min(i+2, len(keys))])
	}
	return map[string]any{"inline_keyboard": rows}
}
