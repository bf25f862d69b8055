package modeltest_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"arbiter/providers/modeltest"
)

// TestServe serves a script by hand, for a look at what a real program makes of it:
//
//	MODELTEST_SCRIPT=script.json MODELTEST_LISTEN=127.0.0.1:8123 go test ./providers/modeltest -run TestServe -v -timeout 0
//
// script.json is a list of scripts. Requests are logged with headers and body.
func TestServe(t *testing.T) {
	name := os.Getenv("MODELTEST_SCRIPT")
	if name == "" {
		t.Skip("MODELTEST_SCRIPT is not set")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var scripts []modeltest.Script
	if err := json.Unmarshal(text, &scripts); err != nil {
		t.Fatal(err)
	}
	s, err := modeltest.Listen(os.Getenv("MODELTEST_LISTEN"), scripts...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Log("serving at", s.URL())
	for n := 1; ; n++ {
		if err := s.Await(context.Background(), func(r []modeltest.Request) bool { return len(r) >= n }); err != nil {
			t.Fatal(err)
		}
		r := s.Requests()[n-1]
		t.Logf("%s %s %v: script %d, step %d\n%v\n%s", r.Method, r.Path, r.Query, r.Script, r.Step, r.Header, r.Body)
	}
}
