package telegramtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Messages are all messages of the bot as they are now, the oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Message, len(s.messages))
	for i, m := range s.messages {
		out[i] = *m
		out[i].Buttons = slices.Clone(m.Buttons)
	}
	return out
}

// Find is the newest message of a chat that holds a text or has a button of that label.
func (s *Server) Find(chat int64, text string) (Message, bool) {
	all := s.Messages()
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if m.Chat == chat && (strings.Contains(m.Text, text) || m.button(text) != "") {
			return m, true
		}
	}
	return Message{}, false
}

func (m *Message) button(label string) string {
	for _, b := range m.Buttons {
		if strings.HasPrefix(b.Label, label) {
			return b.Data
		}
	}
	return ""
}

// Press presses the button of the newest message that has one whose label begins so; it is an error when there is none.
func (s *Server) Press(user, chat int64, label string) error {
	all := s.Messages()
	for i := len(all) - 1; i >= 0; i-- {
		if data := all[i].button(label); data != "" && all[i].Chat == chat {
			s.PressData(user, chat, all[i].ID, data)
			return nil
		}
	}
	return fmt.Errorf("no message in chat %d has a button %q", chat, label)
}

// PressData presses a button by what it carries.
func (s *Server) PressData(user, chat, message int64, data string) {
	s.come(func(id int64) map[string]any {
		return map[string]any{"callback_query": map[string]any{
			"id": fmt.Sprintf("press-%d", id), "from": map[string]any{"id": user}, "data": data,
			"message": map[string]any{"message_id": message, "chat": map[string]any{"id": chat}},
		}}
	})
}

// Say writes a message, as an answer to another one or, with 0, to none.
func (s *Server) Say(user, chat, reply int64, text string) {
	s.come(func(id int64) map[string]any {
		m := map[string]any{"message_id": 1_000_000 + id, "from": map[string]any{"id": user}, "chat": map[string]any{"id": chat}, "text": text}
		if reply != 0 {
			m["reply_to_message"] = map[string]any{"message_id": reply, "chat": map[string]any{"id": chat}}
		}
		return map[string]any{"message": m}
	})
}

// come lets an update come.
func (s *Server) come(make func(id int64) map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextUpdate++
	data := make(s.nextUpdate)
	data["update_id"] = s.nextUpdate
	u := update{s.nextUpdate, data}
	s.updates = append(s.updates, u)
	s.all = append(s.all, u)
	s.wake()
}

// Repeat lets every update come again under its number, as after a confirmation that was lost.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = slices.Clone(s.all)
	s.wake()
}

// Pending is how many updates were not confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Answers are what presses were answered.
func (s *Server) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Calls is how often a method was called, also in vain.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Fail lets the next call of a method be answered with a code, and a time to wait in seconds when that is not 0.
func (s *Server) Fail(method string, code, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{method: method, code: code, after: after})
}

// Lose lets the next call of a method take effect while its answer is lost. It needs the server as a transport.
func (s *Server) Lose(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{method: method, lost: true})
}

// Down lets no call arrive until it is taken back. It needs the server as a transport.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	s.wake()
}

// Await waits until a condition holds, which is looked at after each change.
func (s *Server) Await(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Slow lets the answer to a call that sends or changes a message come only after that time, while its effect is there at once.
func (s *Server) Slow(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = by
}
