package ssottest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// roundEntries are the entries of one task, each written as a line: start e1 executor D 3 ada is a turn for D under lease 3 of ada.
func roundEntries(lines []string) []amp.Entry {
	var all []amp.Entry
	for i, line := range lines {
		w := strings.Fields(line)
		e := amp.Entry{Seq: uint64(i) + 1, Record: amp.Record{TaskID: "T-2026-001"}}
		switch w[0] {
		case "dispatch":
			e.Kind, e.Body = amp.KindMessage, fmt.Appendf(nil, `{"msg_id":%q,"type":"task_dispatch","from":"coordinator","requires_ack":true}`, w[1])
		case "result", "verdict":
			typ, from := "task_result", "executor"
			if w[0] == "verdict" {
				typ, from = "review_verdict", "reviewer"
			}
			e.Kind = amp.KindMessage
			e.Body = fmt.Appendf(nil, `{"msg_id":%q,"type":%q,"from":%q,"requires_ack":true,"context_ref":[%q]}`, w[1], typ, from, w[2])
		case "request":
			e.Kind = amp.KindMessage
			e.Body = fmt.Appendf(nil, `{"msg_id":%q,"type":"review_request","from":"coordinator","requires_ack":true,"payload":{"task_result_ref":%q}}`, w[1], w[2])
		case "timeout":
			e.Kind = amp.KindMessage
			e.Body = fmt.Appendf(nil, `{"msg_id":"ESC","type":"escalation","payload":{"escalation_type":%q,"affected_msgs":[%q]}}`, amp.AckTimeoutEsc, w[1])
		case "suspended":
			e.Kind = amp.KindMessage
			e.Body = []byte(`{"msg_id":"ESC","type":"escalation","payload":{"escalation_type":"unknown","auto_suspended":true}}`)
		case "ack":
			e.Kind, e.Body = amp.KindAck, fmt.Appendf(nil, `{"ack_for":%q}`, w[1])
		case "refuse":
			e.Kind, e.Body = amp.KindAck, fmt.Appendf(nil, `{"ack_for":%q,"status":"refused"}`, w[1])
		case "command":
			e.Kind, e.Body = amp.KindCommand, []byte(`{}`)
		case "start":
			e.Kind = amp.KindTurn
			e.Body = fmt.Appendf(nil, `{"turn_id":%q,"event":"started","role":%q,"for":%q,"lease":%s,"owner":%q}`, w[1], w[2], w[3], w[4], w[5])
		case "end":
			e.Kind, e.Body = amp.KindTurn, fmt.Appendf(nil, `{"turn_id":%q,"event":"ended","for":%q,"outcome":%q}`, w[1], w[2], w[3])
		default:
			panic(line)
		}
		all = append(all, e)
	}
	return all
}

var goodRound = []string{
	"dispatch D", "start e1 executor D 3 ada", "ack D", "end e1 D lost", "start e2 executor D 5 ben", "result R D", "ack R", "end e2 D ok",
	"end e1 D killed", "request Q R", "start r1 reviewer Q 5 ben", "ack Q", "verdict V Q", "ack V", "end r1 Q ok", "dispatch D2",
}

// TestCheckRounds: a journal that is as it must be has no breach, and each way to break it is found.
func TestCheckRounds(t *testing.T) {
	t.Parallel()
	if found := ssottest.CheckRounds(roundEntries(goodRound)); len(found) > 0 {
		t.Fatalf("a good round: %v", found)
	}
	for _, bad := range []struct {
		after, line, part string
	}{
		{"ack D", "start e9 executor D 3 ada", "is open"},
		{"end e2 D ok", "start e9 executor D 5 ben", "which was answered"},
		{"end e2 D ok", "result R2 D", "is the second task_result"},
		{"end e2 D ok", "result R2 D", "without a turn"},
		{"result R D", "result R2 D", "second answer of one turn"},
		{"request Q R", "request Q2 R", "is the second review_request"},
		{"verdict V Q", "verdict V2 Q", "is the second review_verdict"},
		{"start r1 reviewer Q 5 ben", "result R2 Q", "without a turn"},
		{"dispatch D", "dispatch D9", "nothing came of D"},
		{"ack Q", "ack Q", "acknowledged or escalated before"},
		{"ack Q", "timeout Q", "acknowledged or escalated before"},
		{"ack D", "refuse D", "acknowledged or escalated before"},
		{"ack Q", "refuse Q", "acknowledged or escalated before"},
		{"end e1 D lost", "start e9 executor D 2 ada", "after one under 3"},
		{"end e1 D lost", "start e9 executor D 3 cleo", "belongs to ada and to cleo"},
		{"end e1 D lost", "start e1 executor D 3 ada", "starts again"},
		{"end e1 D killed", "end e1 D killed", "was not open"},
		{"end r1 Q ok", "end r1 Q lost", "was not open"},
		{"start r1 reviewer Q 5 ben", "end r1 Q ok", "delivered nothing"},
	} {
		lines := slices.Insert(slices.Clone(goodRound), slices.Index(goodRound, bad.after)+1, bad.line)
		found := fmt.Sprint(ssottest.CheckRounds(roundEntries(lines)))
		if !strings.Contains(found, bad.part) {
			t.Errorf("%s after %s: found %s, want %q", bad.line, bad.after, found, bad.part)
		}
	}
	lines := slices.Insert(slices.Clone(goodRound), slices.Index(goodRound, "ack Q"), "refuse Q")
	if found := ssottest.CheckRounds(roundEntries(lines)); len(found) > 0 {
		t.Errorf("a review that was refused at first: %v", found)
	}
	lines = slices.Insert(lines, slices.Index(lines, "ack Q"), "refuse Q")
	if found := fmt.Sprint(ssottest.CheckRounds(roundEntries(lines))); !strings.Contains(found, "acknowledged or escalated before") {
		t.Errorf("a review that was refused twice: %v", found)
	}
	again := slices.Concat(goodRound[:12], []string{"suspended", "end r1 Q killed", "command", "request Q2 R", "start r2 reviewer Q2 6 ben"})
	if found := ssottest.CheckRounds(roundEntries(again)); len(found) > 0 {
		t.Errorf("a review again after a suspension: %v", found)
	}
	gap := roundEntries(goodRound)
	gap = slices.Delete(gap, 5, 6)
	if found := fmt.Sprint(ssottest.CheckRounds(gap)); !strings.Contains(found, "has a gap") {
		t.Errorf("a gap: found %s", found)
	}
}
