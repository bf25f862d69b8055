package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/server"
)

// mayUse is who may use each operation over TCP: the roles of tokens, "" of what belongs to the coordinator's own machine, and "signed" of what
// asks for a signature in place of a token.
var mayUse = map[string]string{
	"GET /metrics":                     "admin reader",
	"POST /v1/commands":                "admin",
	"POST /v1/messages":                "admin coordinator executor reviewer",
	"POST /v1/query":                   everyone,
	"GET /v1/journal":                  everyone,
	"GET /v1/status":                   everyone,
	"GET /v1/me":                       everyone,
	"GET /v1/openapi.json":             everyone,
	"GET /v1/tokens":                   "",
	"POST /v1/tokens":                  "",
	"DELETE /v1/tokens/{token}":        "",
	"POST /v1/shutdown":                "",
	"GET /v1/events":                   everyone,
	"GET /v1/events/ws":                everyone,
	"POST /v1/events":                  "admin coordinator executor reviewer",
	"GET /v1/events/schemas":           everyone,
	"GET /v1/events/schemas/{type}":    everyone,
	"GET /v1/events/webhooks":          "admin reader",
	"GET /v1/events/dead":              "admin reader",
	"POST /v1/events/dead/{id}/resend": "admin",
	"GET /v1/bus":                      "admin reader",
	"GET /v1/bus/queue":                "admin reader",
	"GET /v1/bus/dead":                 "admin reader",
	"POST /v1/bus/resend":              "admin",
	"POST /v1/bus/drop":                "admin",
	"GET /v1/hooks":                    "admin reader",
	"POST /v1/hooks/github":            "signed",
	"POST /v1/hooks/ci":                "signed",
}

const everyone = "admin reader coordinator executor reviewer"

// idle is a coordinator that answers nothing.
type idle struct{}

var errIdle = errors.New("nobody is there")

func (idle) Submit(context.Context, amp.Command) (amp.Entry, error) { return amp.Entry{}, errIdle }

func (idle) Receive(context.Context, amp.Received) (amp.Receipt, error) {
	return amp.Receipt{}, errIdle
}

func (idle) Query(context.Context, amp.Query) (amp.Page, error) { return amp.Page{}, errIdle }

func (idle) Follow(context.Context, uint64, func([]amp.Entry) error) error {
	return errIdle
}

// Every operation of the document is there for the roles that the table says, for no other one, and for nobody whose token is missing, wrong,
// expired or revoked.
func TestRoutes_whoMay(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	tokens := server.NewTokens(t.TempDir())
	secrets := map[string]string{"": "", "wrong": "arbiter_aaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
	for _, scope := range server.Scopes() {
		if _, secrets[string(scope)], err = tokens.New("the "+string(scope), scope, "mira", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
	}
	soon := time.Now().Add(-time.Hour)
	if _, secrets["expired"], err = tokens.New("late", server.ScopeAdmin, "mira", soon.Add(-time.Hour), &soon); err != nil {
		t.Fatal(err)
	}
	if _, secrets["revoked"], err = tokens.New("gone", server.ScopeAdmin, "mira", time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Revoke("gone"); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			op := strings.ToUpper(method) + " " + path
			seen[op] = true
			t.Run(op, func(t *testing.T) {
				t.Parallel()
				walkRoute(t, tokens, secrets, strings.ToUpper(method), path)
			})
		}
	}
	for op := range mayUse {
		if !seen[op] {
			t.Errorf("%s is no operation any more", op)
		}
	}
}

func walkRoute(t *testing.T, tokens *server.Tokens, secrets map[string]string, method, path string) {
	t.Helper()
	want, known := mayUse[method+" "+path]
	l, err := server.ListenTCP(t.Context(), server.TCP{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	s := server.New(server.Config{Coordinator: idle{}, Tokens: tokens, Routes: furtherRoutes(nil), Logger: slog.New(slog.DiscardHandler)})
	go func() { done <- s.Serve(ctx, l) }()
	transport := &http.Transport{DisableKeepAlives: true}
	ask := func(secret string) int {
		url := "http://" + l.Addr().String() + strings.NewReplacer("{token}", "nobody", "{id}", "x", "{type}", "x").Replace(path)
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			req.Header.Set("Authorization", "Bearer "+secret)
		}
		res, err := transport.RoundTrip(req)
		if err != nil { // it was let in, and nothing is behind the door of a document
			return 0
		}
		defer res.Body.Close()
		text, err := io.ReadAll(io.LimitReader(res.Body, 4096))
		if err == nil && strings.Contains(string(text), "no part of the client API") {
			t.Errorf("%s %s is not served", method, path)
		}
		return res.StatusCode
	}
	var got []string
	for _, scope := range server.Scopes() {
		switch status := ask(secrets[string(scope)]); status {
		case http.StatusForbidden:
		case http.StatusUnauthorized, http.StatusTooManyRequests:
			t.Errorf("%s is answered %d", scope, status)
		default:
			got = append(got, string(scope))
		}
	}
	for _, who := range []string{"", "wrong", "expired", "revoked"} {
		status := ask(secrets[who])
		if want == "signed" && status != http.StatusForbidden || want != "signed" && status == http.StatusUnauthorized {
			continue
		}
		t.Errorf("a token that is %q is answered %d", who, status)
	}
	if said := strings.Join(got, " "); !known || want != "signed" && said != want {
		t.Errorf("%q: %q,", method+" "+path, said)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
