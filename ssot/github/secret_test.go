package github_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/github"
	"arbiter/ssot/ssottest"
)

// Sequences that look drawn by chance, put together here so that no scanner of this repository takes them for keys.
var (
	alnum = strings.Repeat("k3Zq9Lm2Xv7Bt5Rw1Yp8", 4)
	upper = strings.Repeat("QZ7XK2WM5VJ4PLTR", 2)
)

// secrets are one of each kind.
func secrets() map[string]string {
	return map[string]string{
		"private-key":       "-----BEGIN RSA " + "PRIVATE KEY-----",
		"github-token":      "ghp" + "_" + alnum[:36],
		"github-token fine": "github" + "_pat_" + alnum[:60],
		"gitlab-token":      "glpat" + "-" + alnum[:20],
		"anthropic-key":     "sk-" + "ant-api03-" + alnum[:40],
		"openai-key":        "sk-" + "proj-" + alnum[:48],
		"google-key":        "AIza" + alnum[:35],
		"google-oauth":      "ya29" + "." + alnum[:40],
		"aws-key":           "AKIA" + upper[:16],
		"slack-token":       "xox" + "b-" + alnum[:30],
		"slack-hook":        "https://hooks.slack" + ".com/services/" + alnum[:40],
		"stripe-key":        "sk" + "_live_" + alnum[:24],
		"npm-token":         "npm" + "_" + alnum[:36],
		"pypi-token":        "pypi-" + "AgEI" + alnum[:44],
		"huggingface-token": "hf" + "_" + alnum[:34],
		"sendgrid-key":      "SG" + "." + alnum[:22] + "." + alnum[:43],
		"telegram-token":    "123456789" + ":AA" + alnum[:33],
		"jwt":               "eyJ" + alnum[:20] + ".eyJ" + alnum[:30] + "." + alnum[:43],
		"url-password":      "postgres://admin:" + alnum[:12] + "@db.example.com/x",
		"bearer":            "Authorization: Bearer " + alnum[:32],
		"assignment":        `API_KEY="` + alnum[:24] + `"`,
		"assignment yaml":   "client_secret: " + alnum[:32],
		"assignment json":   `{"db_password":"` + alnum[:20] + `"}`,
	}
}

func TestScanner_finds(t *testing.T) {
	t.Parallel()
	scan := github.NewScanner(nil, nil)
	for name, secret := range secrets() {
		rule, _, _ := strings.Cut(name, " ")
		in := func(text string) {
			t.Helper()
			found := scan.Find([]byte(text))
			for _, f := range found {
				if f.Rule == rule {
					return
				}
			}
			t.Errorf("%s is not found in %q; found %v", name, text, found)
		}
		in("before " + secret + " after")
		once, err := json.Marshal(map[string]string{"text": "line\n" + secret})
		if err != nil {
			t.Fatal(err)
		}
		in(string(once))
		twice, err := json.Marshal(map[string]string{"output": string(once)})
		if err != nil {
			t.Fatal(err)
		}
		in(string(twice))
		in(`{"raw":"` + base64.StdEncoding.EncodeToString([]byte("some text "+secret+"\n")) + `"}`)
		var escaped strings.Builder
		for _, b := range []byte(secret) {
			fmt.Fprintf(&escaped, `\u%04x`, b)
		}
		in(`{"text":"` + escaped.String() + `"}`)
	}
}

// What agents write all day is no secret: a mirror that withholds half of it helps nobody.
func TestScanner_leaves(t *testing.T) {
	t.Parallel()
	scan := github.NewScanner([]github.Known{{Name: "short", Value: "abc"}}, nil)
	for _, text := range []string{
		`{"commit":"8013a7b35f189bf4f1a1815062e49482fa823a7f","hash":"6263c226bbd52d24cdde51d6b096b7807232631be03403144b599294c8fc23ca"}`,
		`{"msg_id":"0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b","tokens":12345,"cost_usd":0.12}`,
		"The password must have 12 characters; see docs/passwords.md", `password = os.Getenv("DB_PASSWORD")`,
		"secret: please-change-this-value", "api_key = your_api_key_goes_here_please", "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
		"https://example.com:8080/path", "https://user@example.com/", "task-sk-learn-and-other-words-with-dashes-in-them-all-day", "key=value", "abc",
		"AKIA is how keys of AWS begin", "ghp_short", `func TestKeyring(t *testing.T) { secretName := regexp.MustCompile("key|token") }`,
		"eyJhbGciOiJIUzI1NiJ9 is a header", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if found := scan.Find([]byte(text)); len(found) > 0 {
			t.Errorf("%q is taken for %v", text, found)
		}
	}
	for _, dir := range []string{"amp/testdata", "docs", "coordinator"} {
		files, err := filepath.Glob("../../" + dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rel, err := filepath.Rel("../..", file)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				continue // a folder
			}
			if found := scan.Find(data); len(found) > 0 {
				t.Errorf("%s is taken for %v", rel, found)
			}
		}
	}
}

// holds reports whether a text is anywhere in the branch.
func (w *world) holds(text string) bool {
	w.t.Helper()
	files, err := w.repo.Files("main")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, data := range files {
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

// An entry that holds a secret is withheld and anchored; its task shows nothing of it; allowed, it follows, and the text passes from then on.
func TestMirror_withholds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := secrets()["aws-key"]
	key := "a configured key, which looks like nothing"
	w.cfg.Secrets = func() []github.Known { return []github.Known{{Name: "the key of agent a", Value: key}} }
	w.task(1)
	w.append(ssottest.Propose("leak", ssottest.Task(2), "use "+secret)) // 3, and the state of the task
	w.grow(2)
	w.append(bus("header "+secret, "{}")) // 6
	w.append(bus("known", `{"text":"`+key+`"}`))
	w.append(bus("wrapped", `{"raw":"`+base64.StdEncoding.EncodeToString([]byte("here: "+w.token.Load().(string)))+`"}`))
	m := w.mirror()
	w.push(m)
	s := m.State()
	want := []amp.WithheldEntry{{Seq: 3, Rule: "aws-key"}, {Seq: 6, Rule: "aws-key"}, {Seq: 7, Rule: "the key of agent a"}, {Seq: 8, Rule: "the token of the mirror"}}
	if s.WithheldCount != 4 || fmt.Sprint(s.Withheld) != fmt.Sprint(want) {
		t.Errorf("withheld are %v, want %v", s.Withheld, want)
	}
	for _, text := range []string{secret, key, base64.StdEncoding.EncodeToString([]byte("here: " + w.token.Load().(string)))[:20]} {
		if w.holds(text) {
			t.Errorf("%.6s… left the machine", text)
		}
	}
	r := w.report(w.repo.Dir, github.Checks{})
	if r.Difference != nil || r.WithheldCount != 4 || r.Agree != 8 {
		t.Errorf("the comparison says %+v", r)
	}
	c := w.open(w.repo.Dir)
	missing, err := c.Missing(t.Context(), nil)
	if err != nil || missing == nil || missing.Count != 4 || !strings.Contains(missing.Error(), "3, 6, 7, 8") {
		t.Errorf("a restore misses %v (%v)", missing, err)
	}
	all, err := ssottest.All(t.Context(), w.log)
	if err != nil {
		t.Fatal(err)
	}
	wrong := all[2]
	wrong.Body = []byte("{}")
	c.Supply(wrong)
	for i := range all[3:] {
		c.Supply(all[3+i])
	}
	if missing, err := c.Missing(t.Context(), nil); err != nil || missing == nil || missing.Count != 1 {
		t.Errorf("supplied but for one, a restore misses %v (%v)", missing, err)
	}
	c.Supply(all[2])
	if missing, err := c.Missing(t.Context(), nil); err != nil || missing != nil {
		t.Errorf("supplied, a restore misses %v (%v)", missing, err)
	}

	// A person lets the one pass. What is configured does not pass, whoever says so.
	if err := github.Allow(w.cfg.Dir, github.Allowed{Seq: 3, By: "ada"}, github.Allowed{Seq: 7, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	w.append(ssottest.Note("again", ssottest.Task(2), "as I said: "+secret), ssottest.Note("more", ssottest.Task(1), key))
	w.push(m)
	if s := m.State(); s.WithheldCount != 4 || s.Withheld[0].Seq != 6 {
		t.Errorf("after it was allowed %d are withheld: %v", s.WithheldCount, s.Withheld)
	}
	if !w.holds(secret) || w.holds(key) {
		t.Error("what was allowed is not there, or what is in use is")
	}
	if r := w.report(w.repo.Dir, github.Checks{}); r.Difference != nil || r.WithheldCount != 4 {
		t.Errorf("the comparison says %+v", r)
	}
	w.push(w.mirror())
	if r := w.report(w.repo.Dir, github.Checks{}); r.Difference != nil {
		t.Errorf("after another start: %v", r.Difference)
	}
}

// More entries are withheld than head.json names: they are counted, and older ones can be released all the same.
func TestMirror_withholdsMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var records []amp.Record
	for i := range 1100 {
		records = append(records, bus(fmt.Sprintf("leak-%04d", i), secrets()["aws-key"]+fmt.Sprint(" ", i)))
	}
	w.append(records...)
	m := w.mirror()
	w.push(m)
	if s := m.State(); s.WithheldCount != 1100 || len(s.Withheld) != 1000 || s.Withheld[0].Seq != 101 {
		t.Errorf("%d are withheld, %d are named from %d on", s.WithheldCount, len(s.Withheld), s.Withheld[0].Seq)
	}
	if err := github.Allow(w.cfg.Dir, github.Allowed{Seq: 5}, github.Allowed{Seq: 1099}); err != nil {
		t.Fatal(err)
	}
	w.push(m)
	w.push(m)
	if s := m.State(); s.WithheldCount != 1098 {
		t.Errorf("%d are withheld after two were released", s.WithheldCount)
	}
	w.grow(1)
	w.push(w.mirror())
	if s := m.State(); s.WithheldCount != 1098 {
		t.Errorf("%d are withheld after another start", s.WithheldCount)
	}
	if r := w.report(w.repo.Dir, github.Checks{}); r.Difference != nil || r.WithheldCount != 1098 {
		t.Errorf("the comparison says %v, %d", r.Difference, r.WithheldCount)
	}
}
