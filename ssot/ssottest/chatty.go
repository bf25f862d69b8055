package ssottest

import (
	"strconv"
	"strings"

	"arbiter/amp"
)

// ChattyTasks is how many tasks the facts of [Chatty] belong to.
const ChattyTasks = 64

// ChattyText is what a chatty fact carries: about 2 KB.
var ChattyText = strings.Repeat("what was said about it, ", 80)

// chatty are encoded once: making them is the producers' work.
var chatty = func() (all [ChattyTasks]amp.Record) {
	for i := range all {
		all[i] = Note("note", Task(1+i), ChattyText)
	}
	return all
}()

// Chatty is a note of about 2 KB, by turns of one of [ChattyTasks] tasks, with an id that no other n has and that grows with it.
func Chatty(n int64) amp.Record {
	r := chatty[n%ChattyTasks]
	r.ID = "note-" + string(r.TaskID) + "-" + strconv.FormatInt(1_770_000_000_000+n, 10)
	return r
}
