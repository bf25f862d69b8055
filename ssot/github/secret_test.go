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

		"private-key openssh":       "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
		"private-key pkcs8":         "-----BEGIN " + "PRIVATE KEY-----",
		"private-key encrypted":     "-----BEGIN ENCRYPTED " + "PRIVATE KEY-----",
		"private-key ec":            "-----BEGIN EC " + "PRIVATE KEY-----",
		"private-key dsa":           "-----BEGIN DSA " + "PRIVATE KEY-----",
		"private-key pgp":           "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
		"private-key ssh2":          "---- BEGIN SSH2 ENCRYPTED " + "PRIVATE KEY ----",
		"private-key putty":         "PuTTY-User-Key" + "-File-3: ssh-ed25519",
		"private-key jwk":           `{"kty":"EC","crv":"P-256","x":"abc","d":"` + alnum[:43] + `"}`,
		"private-key gcp":           `{"type":"service_account","private_key_id":"8013a7b35f18","private_key":"-----BEGIN ` + `PRIVATE KEY-----\nMIIE"}`,
		"private-key kubeconfig":    "client-key-data: " + base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA "+"PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n")),
		"age-key":                   "AGE-SECRET" + "-KEY-1" + strings.Repeat(upper, 2)[:58],
		"gitlab-token deploy":       "gldt" + "-" + alnum[:20],
		"gitlab-token runner":       "glrt" + "-t1_" + alnum[:20],
		"gitlab-token job":          "glcbt" + "-64_" + alnum[:20],
		"gitlab-token oauth":        "gloas" + "-" + alnum[:64],
		"gitlab-token agent":        "glagent" + "-" + alnum[:50],
		"gitlab-token registration": "GR1348" + "941" + alnum[:20],
		"atlassian-token":           "ATATT" + "3xFfGF0" + alnum,
		"atlassian-token app":       "ATBB" + alnum[:28],
		"rubygems-key":              "rubygems" + "_" + hexes[:48],
		"crates-token":              "cio" + alnum[:32],
		"nuget-key":                 "oy2" + strings.ToLower(alnum[:43]),
		"clojars-token":             "CLOJARS" + "_" + strings.ToLower(alnum[:60]),
		"docker-token":              "dckr" + "_pat_" + alnum[:27],
		"docker-auth":               `{"auths":{"https://index.docker.io/v1/":{"auth": "` + base64.StdEncoding.EncodeToString([]byte("ada:"+alnum[:12])) + `"}}}`,
		"aws-key sts":               "ASIA" + upper[:16],
		"aws-bedrock-key":           "ABSK" + alnum + alnum[:40],
		"assignment aws":            "aws_secret" + "_access_key = " + alnum[:40],
		"google-oauth refresh":      "1/" + "/0" + alnum[:60],
		"azure-key storage":         "DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key=" + (alnum + alnum)[:86] + "==;EndpointSuffix=core.windows.net",
		"azure-key bus":             "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccess" + "Key=" + alnum[:43] + "=",
		"azure-sas":                 "https://a.blob.core.windows.net/c?sv=2022-11-02&se=2026-01-01T00%3A00%3A00Z&sr=c&sp=r&s" + "ig=" + alnum[:41] + "%2B%3D",
		"azure-client-secret":       "abc8" + "Q~" + alnum[:34],
		"azure-devops-token":        alnum[:76] + "AZ" + "DO" + alnum[:4],
		"digitalocean-token":        "dop" + "_v1_" + hexes[:64],
		"alibaba-key":               "LTAI" + alnum[:20],
		"cloudflare-key":            "v1.0" + "-" + hexes[:24] + "-" + (hexes + hexes)[:146],
		"heroku-key":                "HRKU" + "-" + alnum[:58],
		"fly-token":                 "FlyV1 fm2" + "_" + alnum + alnum[:10],
		"netlify-token":             "nfp" + "_" + alnum[:36],
		"supabase-key":              "sbp" + "_" + hexes[:40],
		"planetscale-token":         "pscale" + "_tkn_" + alnum[:43],
		"databricks-token":          "dapi" + hexes[:32],
		"vault-token":               "hvs" + "." + alnum[:40],
		"terraform-token":           alnum[:14] + ".atlas" + "v1." + alnum[:64],
		"pulumi-token":              "pul" + "-" + hexes[:40],
		"doppler-token":             "dp" + ".pt." + alnum[:43],
		"onepassword-token":         "ops_" + "eyJ" + alnum + alnum,
		"tailscale-key":             "tskey" + "-auth-" + alnum[:12] + "-" + alnum[:32],
		"shopify-token":             "shpat" + "_" + hexes[:32],
		"openai-key router":         "sk-" + "or-v1-" + hexes[:64],
		"groq-key":                  "gsk" + "_" + alnum[:52],
		"xai-key":                   "xai" + "-" + alnum[:80],
		"perplexity-key":            "pplx" + "-" + alnum[:48],
		"replicate-token":           "r8" + "_" + alnum[:37],
		"nvidia-key":                "nvapi" + "-" + alnum[:64],
		"elevenlabs-key":            "sk" + "_" + hexes[:48],
		"langsmith-key":             "lsv2" + "_pt_" + hexes[:32] + "_" + hexes[:10],
		"slack-token app":           "xapp" + "-1-" + upper[:11] + "-1234567890-" + hexes[:64],
		"slack-token refresh":       "xoxe" + ".xoxp-1-" + alnum[:60],
		"slack-hook workflow":       "https://hooks.slack" + ".com/workflows/" + alnum[:40],
		"discord-hook":              "https://discord" + ".com/api/webhooks/123456789012345678/" + alnum[:68],
		"teams-hook": "https://a.webhook.office" + ".com/webhookb2/0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b@0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b/IncomingWebhook/" +
			hexes[:32] + "/0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b",
		"stripe-hook":             "whsec" + "_" + alnum[:32],
		"stripe-key restricted":   "rk" + "_live_" + alnum[:40],
		"square-token":            "sq0" + "atp-" + alnum[:22],
		"twilio-key":              "SK" + hexes[:32],
		"mailgun-key":             "key" + "-" + hexes[:32],
		"mailchimp-key":           hexes[:32] + "-us" + "12",
		"brevo-key":               "xkeysib" + "-" + hexes[:64] + "-" + alnum[:16],
		"linear-key":              "lin" + "_api_" + alnum[:40],
		"notion-token":            "ntn" + "_" + alnum[:46],
		"airtable-token":          "pat" + alnum[:14] + "." + hexes[:64],
		"figma-token":             "figd" + "_" + alnum[:40],
		"postman-key":             "PMAK" + "-" + hexes[:24] + "-" + hexes[:34],
		"grafana-token":           "glsa" + "_" + alnum[:32] + "_" + hexes[:8],
		"newrelic-key":            "NRAK" + "-" + strings.ToUpper(alnum[:27]),
		"sentry-token":            "sntryu" + "_" + hexes[:64],
		"dynatrace-token":         "dt0" + "c01." + strings.ToUpper(alnum[:24]) + "." + strings.ToUpper(alnum[:64]),
		"buildkite-token":         "bkua" + "_" + hexes[:40],
		"circleci-token":          "CCIPAT" + "_" + alnum[:22] + "_" + hexes[:40],
		"url-password no user":    "redis://:" + alnum[:12] + "@cache.example.com:6379/0",
		"url-password encoded":    "https://ada:%40" + alnum[:8] + "@example.com/",
		"url-password dollar":     "https://ada:$" + alnum[:8] + "@example.com/",
		"url-password ipv6":       "amqp://ada:" + alnum[:12] + "@[::1]:5672/",
		"connection-string":       "Server=db;Database=a;User Id=sa;Pass" + "word=Tr0ub4dor;Encrypt=true",
		"connection-string libpq": "host=db user=ada dbname=a pass" + "word=Tr0ub4dor sslmode=require",
		"netrc":                   "machine api.example.com\n  login ada\n  pass" + "word Tr0ub4dor",
		"command-password":        "curl -sS -X POST -u ada:" + "Tr0ub4dor https://example.com/",
		"command-password ssh":    "sshpass -p" + " 'Tr0ub4dor' ssh ada@example.com",
		"basic":                   "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+alnum[:12])),
		"assignment environment":  "export DEPLOY" + "_TOKEN=" + alnum[:32],
	}
}

// hexes are digits of a hash, also put together here.
var hexes = strings.Repeat("8013a7b35f189bf4f1a1815062e49482", 3)

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
		// Names of keys, and what stands in the place of a value.
		"secret_name: connection-password-v2", `{"key":"connection-password","secret":"team.store.password.2026"}`, "credential = arbiter/prod/db-1",
		"export GITHUB_TOKEN=your_token_goes_here_please", "MIRROR_TOKEN=<token>", "GH_TOKEN=${{ secrets.GITHUB_TOKEN }}", "CI_TOKEN=$CI_JOB_TOKEN",
		"RUN_TOKEN=0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b", "COMMIT_TOKEN: 8013a7b35f189bf4f1a1815062e49482fa823a7f", "MAX_TOKENS=200000", `"next_page_token": "abc"`,
		"postgres://user:password@host/db", "postgres://ada:$PGPASSWORD@host/db", "https://ada:{password}@host/", "redis://:xxxxxxxx@host", "https://ada:your_password_here@host/",
		"amqp://ada:********@host", "curl -u ada:$TOKEN https://example.com/", "curl -u user:password https://example.com/", "Server=db;User Id=sa;Password=${PASSWORD};",
		"machine example.com login ada password your-password", "sshpass -p $PASSWORD ssh host",
		"Authorization: Basic " + "YWRhOnBhc3N3b3Jk" + " is ada:password in base64", `{"auth":"bearer-token-of-the-agent"}`, `{"auth": "dXNlcm5hbWU="}`,
		// Beginnings that are words or parts of paths, and hashes and ids in many forms.
		"task-sk-8013a7b35f189bf4", "a monkey-8013a7b35f18", "path patterns.8013a7b35f189bf4f1a1815062e49482fa823a7f8013a7b35f189bf4", "keyboard-us12", "/usr/lib/dapi/v1",
		"GR1348941 is how tokens of runners begin", "AGE-SECRET-KEY-1 is how keys of age begin", "glpat-xxxxxxxxxxxxxxxxxxxx", "LTAI is a beginning",
		"sha256:6263c226bbd52d24cdde51d6b096b7807232631be03403144b599294c8fc23ca", "index 8013a7b..6263c22 100644", "T-2026-001 0198c2f4-6d1e-7bbb-8aaa-1c2d3e4f5a6b",
		"https://example.com/api/webhooks/12", "the curl of a field -u ada", `?config=abc&sig=none&x=1`, "dp.Printf(dp.state)", "v1.0-8013a7b35f18", "hvs.value", "EAAA",
		"golang.org/x/crypto v0.53.0 h1:8TfmMPFc3Kk0mYQ3cVrKzc1M4mPFz4f0Uq0mVYQ0abc=", "integrity sha512-Zk3/Lm2Xv7Bt5Rw1Yp8k3Zq9Lm2Xv7Bt5Rw1Yp8k3Zq9Lm2Xv7Bt5Rw1Yp8==",
		`{"kty":"EC","crv":"P-256","x":"k3Zq9Lm2Xv7Bt5Rw1Yp8k3Zq9Lm2Xv7Bt5Rw1Yp8k3Z"}`, "-----BEGIN OPENSSH PUBLIC KEY-----", "-----BEGIN PGP SIGNATURE-----",
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
