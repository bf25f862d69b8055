package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The key is in this process's environment, as a person would give it, and reaches the model; a program that looks everywhere does not
// find it, in no mode that confines.
func TestCage_keepsTheKey(t *testing.T) {
	key := "sk-kept-" + strings.Repeat("7", 24)
	t.Setenv("VENDOR_API_KEY", key)
	for _, m := range confined {
		t.Run(string(m), func(t *testing.T) {
			needs(t, m)
			var got string
			c := model(t, func(l *Leash) {
				l.Mode, l.Model.Header = m, "x-api-key"
				l.Model.Key = func() (string, error) { return os.Getenv("VENDOR_API_KEY"), nil }
			}, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("x-api-key")
				w.Header().Set("X-Echo", got)
				fmt.Fprintf(w, "you are %s, and the answer is 42", got)
			})
			var log bytes.Buffer
			c.Log(&log)
			s := spec(t, "snoop")
			s.Env = []string{"MODEL_URL=" + c.URL(), "VENDOR_API_KEY=" + PlaceholderKey}
			p, err := c.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			errs := make(chan []byte)
			go func() { b, _ := io.ReadAll(p.Stderr()); errs <- b }()
			out, _ := io.ReadAll(p.Stdout())
			out = append(out, <-errs...)
			exit, err := p.Stop(0)
			if exit != 0 || err != nil {
				t.Errorf("exit %d, %v", exit, err)
			}
			c.Close()
			if got != key || !bytes.Contains(out, []byte("the answer is 42")) || !bytes.Contains(out, []byte("VENDOR_API_KEY="+PlaceholderKey)) {
				t.Errorf("the model was asked with %q; the program said %.200q", got, out)
			}
			if bytes.Contains(out, []byte(key)) {
				t.Error("the program knows the key")
			}
			if strings.Contains(log.String(), key) || !strings.Contains(log.String(), "GET /v1/messages 200") {
				t.Errorf("the log is %q", log.String())
			}
			err = filepath.WalkDir(s.Home, func(name string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(key)) {
						t.Errorf("%s holds the key", name)
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
