package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"arbiter/forge"
	"arbiter/ssot/events"
)

// knock signs a file, in which variables are filled in, sends it as a webhook to $URL, and prints the answer:
// knock github SECRET FILE EVENT DELIVERY, or knock ci SECRET FILE.
func knock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[0] == "github" && len(args) != 5 {
		ts.Fatalf("usage: knock github SECRET FILE EVENT DELIVERY, or knock ci SECRET FILE")
	}
	body := []byte(os.Expand(ts.ReadFile(args[2]), ts.Getenv))
	r, err := http.NewRequest(http.MethodPost, ts.Getenv("URL")+"/v1/hooks/"+args[0], strings.NewReader(string(body)))
	ts.Check(err)
	if args[0] == "github" {
		r.Header.Set(forge.SignatureHeader, forge.Sign([]byte(args[1]), body))
		r.Header.Set(forge.EventHeader, args[3])
		r.Header.Set(forge.DeliveryHeader, args[4])
	} else {
		r.Header.Set(events.SignatureHeader, events.Sign([]byte(args[1]), body, time.Now()))
	}
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d %s\n", resp.StatusCode, answer)
	ts.Check(err)
}
