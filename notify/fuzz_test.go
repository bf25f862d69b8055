package notify

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"arbiter/amp"
)

// FuzzQuote: whatever somebody writes, it is one well-formed quote in a message that Telegram takes, and nothing of it is hidden.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a <b>x</b> & \"y\"", "\u202eabc\u200b", "</code><a href='x'>", "a\x00\x1b[2J\xff", strings.Repeat("é😀", 4000), "`x` <!channel>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := text{}
		m.quote("What: ", s, 12000)
		for _, page := range m.pages() {
			h := page.html()
			if n := len(utf16.Encode([]rune(h))); strings.ContainsAny(s, "<>&\"'") == false && n > 4096 {
				t.Errorf("%d units", n)
			}
			for line := range strings.SplitSeq(h, "\n") {
				inside, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "What: "), "<code>"), "</code>")
				if !ok || strings.ContainsAny(inside, "<>\"") {
					t.Errorf("%q", line)
				}
			}
			if strings.ContainsAny(h, "\u202e\u200b\u200d\u2066\u2069\x1b\x00\r\t") {
				t.Errorf("%q holds what is not seen", h)
			}
			if strings.Contains(page.slack(), "<") {
				t.Errorf("%q is a link or a call in Slack", page.slack())
			}
		}
	})
}

// FuzzUpdate: no update makes the desk fail, decide anything, or say a word to somebody who is not configured.
func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		`{"update_id":1,"message":{"message_id":2,"from":{"id":42},"chat":{"id":7},"text":"x"}}`, `{"update_id":1,"callback_query":{}}`,
		`{"callback_query":{"id":"a","from":{"id":42},"data":"x","message":{"message_id":3,"chat":{"id":7}}}}`, `{"message":{"reply_to_message":{}}}`,
		`{"update_id":-9223372036854775808,"message":{"chat":{"id":7},"from":{"id":42},"reply_to_message":{"message_id":0}}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var u update
		if json.Unmarshal([]byte(s), &u) != nil {
			return
		}
		d := &desk{
			cfg:   &Config{Telegram: &Telegram{Chats: []int64{7}, People: map[int64]string{42: "mira"}}, Logger: slog.New(slog.DiscardHandler), Zone: time.UTC},
			state: newState(), board: amp.NewBoard(),
		}
		in := incoming{update: u, reply: make(chan answer, 1)}
		d.take(in, time.Unix(0, 0))
		if len(d.answers) != 1 || len(d.state.Notes)+len(d.state.Prompts) != 0 {
			t.Errorf("%+v", d)
		}
		if a := d.answers[0].a; a.words != "" && d.state.Strangers > 0 {
			t.Errorf("a stranger is answered %+v", a)
		}
	})
}
