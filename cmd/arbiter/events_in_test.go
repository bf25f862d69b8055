package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/server"
)

// What comes in is judged (EVT-095), kept once (EVT-096), refused with its rules and a place in the error log (EVT-082), one by one in a batch
// (EVT-101), and after its time to live not kept at all (EVT-104). None of it moves a task.
func TestEvents_in(t *testing.T) {
	t.Parallel()
	r := serveLoad(t, "[listen]\ntcp = \"127.0.0.1:0\"\n")
	token := r.token("builds", server.ScopeExecutor)
	post := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.api+"/v1/events", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	event := func(n int, typ, more string) string {
		return fmt.Sprintf(`{"id":"550e8400-e29b-41d4-a716-%012d","type":%q,"source":"planning-system","timestamp":%q,`+
			`"correlation_id":"5d976e66-8c32-483f-a9d1-8feaade0e1e0","data":{"task_id":"T-2026-001","previous_status":"pending","new_status":"terminated","agent_id":"codex"}%s}`,
			n, typ, time.Now().UTC().Truncate(time.Hour).Format(time.RFC3339), more)
	}
	const typ = "task.status_changed"
	batch := fmt.Sprintf(`{"id":"550e8400-e29b-41d4-a716-000000000099","type":"batch","source":"x","timestamp":"2026-11-22T08:00:00Z",`+
		`"correlation_id":"5d976e66-8c32-483f-a9d1-8feaade0e1e0","data":{"batch_size":4,"messages":[%s,%s,7,%s]}}`, event(1, typ, ""), event(2, "task.nothing", ""), event(3, typ, ""))
	refusals := 0
	for _, tc := range []struct {
		name, body string
		status     int
		want       string
		refused    int
	}{
		{"one", event(1, typ, ""), 200, `"accepted":["550e8400-e29b-41d4-a716-000000000001"]`, 0},
		{"the same", event(1, typ, ""), 200, `"duplicates":["550e8400-e29b-41d4-a716-000000000001"]`, 0},
		{"its id on another", event(1, typ, `,"metadata":{"x":1}`), 409, "EVT-003", 1},
		{"an unknown type", event(4, "task.nothing", ""), 409, "EVT-083", 1},
		{"garbage", "garbage", 409, "EVT-001", 1},
		{"too long", `{"id":"` + strings.Repeat("x", 2<<20) + `"}`, 409, "EVT-001", 1},
		{"too late", event(5, typ, `,"metadata":{"ttl_seconds":0}`), 200, `"expired":["550e8400-e29b-41d4-a716-000000000005"]`, 0},
		{"a batch", batch, 200, `"accepted":["550e8400-e29b-41d4-a716-000000000003"],"duplicates":["550e8400-e29b-41d4-a716-000000000001"]`, 2},
	} {
		if status, said := post(tc.body); status != tc.status || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %d %.600s; want %d %s", tc.name, status, said, tc.status, tc.want)
		}
		refusals += tc.refused
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page, err := r.client.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Kinds: []amp.Kind{amp.KindRefusal}}})
	if err != nil || len(page.Entries) != refusals {
		t.Errorf("the error log has %d of %d, %v", len(page.Entries), refusals, err)
	}
	board, err := r.client.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil || len(board.Board.Tasks) != 0 {
		t.Errorf("an event made a task: %v, %v", board.Board, err)
	}
}

// Without authentication the bus is opened on this machine alone (B02).
func TestConfig_busNobodyAsked_B02(t *testing.T) {
	t.Parallel()
	for line, good := range map[string]bool{
		`listen = "127.0.0.1:0"`: true, `listen = "[::1]:0"`: true, `listen = "localhost:0"`: true, `listen = ":0"`: false, `listen = "0.0.0.0:0"`: false, `listen = "192.0.2.1:0"`: false,
	} {
		c := busConfig{Listen: strings.Trim(strings.TrimPrefix(line, "listen = "), `"`), Authentication: "none"}
		var said []string
		c.validate(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if (len(said) == 0) != good {
			t.Errorf("%s: %q", line, said)
		}
	}
}
