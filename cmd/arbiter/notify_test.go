package main

import (
	"context"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/notify/telegramtest"
)

// telegramKey names the Telegram of a script.
type telegramKey struct{}

// telegramRig is a Bot API on loopback with the chat 7, in which the user 42 is somebody.
type telegramRig struct {
	server *telegramtest.Server
	http   *httptest.Server
}

const scriptChat = 7

// bot is the Telegram of a script:
//
//	bot start              starts it and puts its address into TELEGRAM_URL
//	bot sees TEXT          waits for a message with that text or button, and prints it
//	bot press USER LABEL   presses a button as soon as there is one, and prints what the press is answered
//	bot reply USER TEXT    answers the newest message that asks for a reply, as soon as there is one
//	bot count TEXT N       wants N messages with that text
func bot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: bot start|sees|press|reply|count ...")
	}
	rig := ts.Value(telegramKey{}).(*telegramRig)
	if args[0] == "start" {
		rig.server = telegramtest.New("1:TOKEN")
		rig.http = httptest.NewServer(rig.server)
		ts.Defer(rig.http.Close)
		ts.Setenv("TELEGRAM_URL", rig.http.URL)
		return
	}
	s := rig.server
	await := func(holds func() bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := s.Await(ctx, holds); err != nil {
			ts.Fatalf("bot %s: %v; the chat holds %+v", strings.Join(args, " "), err, s.Messages())
		}
	}
	print := func(text string) {
		_, err := ts.Stdout().Write([]byte(text + "\n"))
		ts.Check(err)
	}
	user := func() int64 {
		n, err := strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
		return n
	}
	switch {
	case args[0] == "sees" && len(args) == 2:
		await(func() bool { _, ok := s.Find(scriptChat, args[1]); return ok })
		m, _ := s.Find(scriptChat, args[1])
		print(m.Text)
	case args[0] == "press" && len(args) == 3:
		n := len(s.Answers())
		await(func() bool { return s.Press(user(), scriptChat, args[2]) == nil })
		await(func() bool { return len(s.Answers()) > n })
		print(s.Answers()[n].Text)
	case args[0] == "reply" && len(args) == 3:
		await(func() bool {
			for _, m := range s.Messages() {
				if m.Force {
					s.Say(user(), scriptChat, m.ID, args[2])
					return true
				}
			}
			return false
		})
	case args[0] == "count" && len(args) == 3:
		n := 0
		for _, m := range s.Messages() {
			if strings.Contains(m.Text, args[1]) {
				n++
			}
		}
		if strconv.Itoa(n) != args[2] {
			ts.Fatalf("%d messages with %q, want %s: %+v", n, args[1], args[2], s.Messages())
		}
	default:
		ts.Fatalf("bot does not know %q", args)
	}
}
