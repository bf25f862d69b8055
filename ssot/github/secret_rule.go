package github

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
)

// secretRule finds one kind of secrets. It is only looked for around its words, in any case; with a group, that is the secret.
type secretRule struct {
	name  string
	words []string
	form  *regexp.Regexp
	// real, if not nil, tells a secret from what only has its form.
	real func(value []byte) bool
	// before and after are how far around the end of a word the form reaches; both 0 for one without spaces and quotes, which is looked for in
	// the run of other bytes that the word is in.
	before, after int
}

// rule makes a rule; the words are separated by spaces.
func rule(name, words, form string, reals ...func([]byte) bool) secretRule {
	r := secretRule{name: name, words: strings.Fields(words), form: regexp.MustCompile(form)}
	if len(reals) > 0 {
		r.real = reals[0]
	}
	return r
}

// reaching makes a rule whose form has spaces or quotes.
func (r secretRule) reaching(before, after int) secretRule {
	r.before, r.after = before, after
	return r
}

// farthest is how far a form reaches that ends with a value of any length.
const farthest = 8 << 10

// secretRules are the forms that providers document for their keys, and what reads like a password. A new one costs nothing where none of its
// words is.
var secretRules = []secretRule{
	// Keys that are a file, or a block in one.
	rule("private-key", "private", `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`).reaching(96, 64),
	rule("private-key", "encrypted putty-user", `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----|PuTTY-User-Key-File-[0-9]: `).reaching(64, 64),
	rule("private-key", `"kty"`, `"(?:d|dp|dq|qi|k)"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{40,})"`, random).reaching(farthest, farthest),
	rule("age-key", "age-secret-key-", `AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}`),

	// Where code and packages are kept.
	rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", `gh[pousr]_[A-Za-z0-9]{36,255}`),
	rule("github-token", "github_pat_", `github_pat_[A-Za-z0-9_]{50,255}`),
	rule("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
		`\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}`, random),
	rule("gitlab-token", "gr1348941", `\bGR1348941[A-Za-z0-9_-]{20,}`),
	rule("atlassian-token", "atatt3 atctt3 atbb", `\bAT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{24,}`, random),
	rule("npm-token", "npm_", `\bnpm_[A-Za-z0-9]{36}\b`),
	rule("pypi-token", "pypi-agei pypi-agen", `pypi-AgE[IN][A-Za-z0-9_-]{40,}`),
	rule("rubygems-key", "rubygems_", `\brubygems_[0-9a-f]{48}\b`),
	rule("crates-token", "cio", `\bcio[A-Za-z0-9]{32}\b`, random),
	rule("nuget-key", "oy2", `\boy2[a-z0-9]{43}\b`, random),
	rule("clojars-token", "clojars_", `\bCLOJARS_[a-z0-9]{60}\b`),
	rule("docker-token", "dckr_pat_ dckr_oat_", `\bdckr_[po]at_[A-Za-z0-9_-]{20,}`),
	rule("docker-auth", `"auth"`, `"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,}={0,2})"`, basic).reaching(16, farthest),

	// Clouds, and what runs there.
	rule("aws-key", "akia asia abia acca", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`),
	rule("aws-bedrock-key", "absk", `\bABSK[A-Za-z0-9+/]{100,}={0,2}`),
	rule("google-key", "aiza", `AIza[A-Za-z0-9_-]{35}`),
	rule("google-oauth", "ya29. gocspx- 1//0", `ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28}|\b1//0[A-Za-z0-9_-]{40,}`),
	rule("azure-key", "accountkey sharedaccesskey", `(?i)\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{42,}={0,2})`, random),
	rule("azure-sas", "sig=", `[?&;](?:amp;)?sig=([A-Za-z0-9+/]{42,}={1,2}|[A-Za-z0-9%]{43,}%3[Dd])`).reaching(16, 512),
	rule("azure-client-secret", "q~", `\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}`, random),
	rule("azure-devops-token", "azdo", `\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b`),
	rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", `\bdo[opr]_v1_[0-9a-f]{64}\b`),
	rule("alibaba-key", "ltai", `\bLTAI[A-Za-z0-9]{12,20}\b`, random),
	rule("cloudflare-key", "v1.0-", `\bv1\.0-[0-9a-f]{24}-[0-9a-f]{146}\b`),
	rule("heroku-key", "hrku-", `\bHRKU-[A-Za-z0-9_-]{36,}`, random),
	rule("fly-token", "fm1_ fm2_ fo1_", `\b(?:fm[12]_[A-Za-z0-9+/]{80,}={0,3}|fo1_[A-Za-z0-9_-]{43})`),
	rule("netlify-token", "nfp_", `\bnfp_[A-Za-z0-9]{36}\b`),
	rule("supabase-key", "sbp_ sb_secret_", `\b(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})\b`),
	rule("planetscale-token", "pscale_", `\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}`),
	rule("databricks-token", "dapi", `\bdapi[0-9a-f]{32}(?:-[0-9])?\b`),
	rule("vault-token", "hvs. hvb. hvr.", `\bhv[sbr]\.[A-Za-z0-9_-]{24,}`, random),
	rule("terraform-token", "atlasv1", `\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}`),
	rule("pulumi-token", "pul-", `\bpul-[0-9a-f]{40}\b`),
	rule("doppler-token", "dp.", `\bdp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b`),
	rule("onepassword-token", "ops_eyj", `\bops_eyJ[A-Za-z0-9_-]{100,}`),
	rule("tailscale-key", "tskey-", `\btskey-[a-z]{3,12}-[A-Za-z0-9]{6,}-[A-Za-z0-9]{20,}`),
	rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", `\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b`),

	// Models.
	rule("anthropic-key", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{20,}`),
	rule("openai-key", "sk-", `\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}`, random),
	rule("huggingface-token", "hf_ api_org_", `\b(?:hf|api_org)_[A-Za-z0-9]{30,}\b`, random),
	rule("groq-key", "gsk_", `\bgsk_[A-Za-z0-9]{40,}\b`),
	rule("xai-key", "xai-", `\bxai-[A-Za-z0-9]{60,}\b`),
	rule("perplexity-key", "pplx-", `\bpplx-[A-Za-z0-9]{40,}\b`),
	rule("replicate-token", "r8_", `\br8_[A-Za-z0-9]{37}\b`),
	rule("nvidia-key", "nvapi-", `\bnvapi-[A-Za-z0-9_-]{50,}`, random),
	rule("elevenlabs-key", "sk_", `\bsk_[0-9a-f]{48}\b`),
	rule("langsmith-key", "lsv2_", `\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}\b`),

	// Mail, chat, money.
	rule("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe xoxo- xoxp- xoxr- xoxs- xapp-", `\b(?:xoxe\.)?(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9%-]{20,}`),
	rule("slack-hook", "hooks.slack.com", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,}`),
	rule("discord-hook", "/api/webhooks/", `discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}`),
	rule("teams-hook", "webhookb2", `webhook\.office\.com/webhookb2/[A-Za-z0-9@-]{70,}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36}`),
	rule("telegram-token", ":aa", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`),
	rule("stripe-key", "k_live_ k_test_", `\b[sr]k_(?:live|test)_[A-Za-z0-9]{20,}`),
	rule("stripe-hook", "whsec_", `\bwhsec_[A-Za-z0-9+/]{32,}={0,2}`),
	rule("square-token", "sq0atp- sq0csp- eaaa", `\b(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{60})`, random),
	rule("twilio-key", "sk", `\bSK[0-9a-f]{32}\b`),
	rule("sendgrid-key", "sg.", `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}`),
	rule("mailgun-key", "key-", `\bkey-[0-9a-f]{32}\b`),
	rule("mailchimp-key", "-us", `\b[0-9a-f]{32}-us[0-9]{1,2}\b`),
	rule("brevo-key", "xkeysib-", `\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}\b`),

	// What teams work with.
	rule("linear-key", "lin_api_ lin_oauth_", `\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b`),
	rule("notion-token", "ntn_", `\bntn_[A-Za-z0-9]{40,}\b`),
	rule("airtable-token", "pat", `\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b`),
	rule("figma-token", "figd_ figo_", `\bfig[do]_[A-Za-z0-9_-]{36,}`),
	rule("postman-key", "pmak-", `\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b`),
	rule("grafana-token", "glsa_ glc_eyj", `\b(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}\b|glc_eyJ[A-Za-z0-9+/=]{40,})`),
	rule("newrelic-key", "nrak- nraa- nrii-", `\bNR(?:AK|AA|II)-[A-Za-z0-9_-]{27,}`, random),
	rule("sentry-token", "sntrys_ sntryu_", `\bsntry(?:s_eyJ[A-Za-z0-9+/=_]{60,}|u_[0-9a-f]{64}\b)`),
	rule("dynatrace-token", "dt0", `\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b`),
	rule("buildkite-token", "bkua_", `\bbkua_[0-9a-f]{40}\b`),
	rule("circleci-token", "ccipat_", `\bCCIPAT_[A-Za-z0-9]{16,}_[0-9a-f]{40}\b`),

	// What belongs to no provider.
	rule("jwt", "eyj", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`),
	rule("url-password", "://", `[a-z][a-z0-9+.-]{1,20}://[^/\s:@"'<>]{0,64}:([^/\s:@"'<>]{6,128})@[A-Za-z0-9\[]`, filledIn).reaching(32, 320),
	rule("connection-string", "password pwd",
		`(?i)\b(?:server|data source|host|addr|address)\s{0,2}=[^;\n"']{1,200};[^\n"']{0,300}?\b(?:password|pwd)\s{0,2}=\s{0,2}([^;\s"']{6,128})`, filledIn).reaching(640, 256),
	rule("connection-string", "password", `(?i)\b(?:host|hostaddr|dbname)=[^\s"']{1,200} (?:[a-z_]{1,30}=[^\s"']{1,100} ){0,10}password=([^\s"']{6,128})`, filledIn).reaching(1600, 256),
	rule("netrc", "machine", `\bmachine\s{1,4}[^\s"']{1,200}\s{1,4}login\s{1,4}[^\s"']{1,200}\s{1,4}password\s{1,4}([^\s"']{6,128})`, filledIn).reaching(16, 1024),
	rule("command-password", "curl", `\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"']{6,128})`, filledIn).reaching(16, 640),
	rule("command-password", "sshpass", `\bsshpass\s{1,4}-p\s{0,4}["']?([^\s"']{6,128})`, filledIn).reaching(16, 256),
	rule("bearer", "bearer", `[Bb]earer ([A-Za-z0-9+/_.=-]{24,})`, random).reaching(16, farthest),
	rule("basic", "basic", `(?i)\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?basic\s{1,4}([A-Za-z0-9+/]{12,}={0,2})`, basic).reaching(64, farthest),
	rule("assignment", "apikey api_key api-key secret accesskey access_key access-key privatekey private_key private-key authtoken auth_token auth-token "+
		"accesstoken access_token access-token passwd password credential",
		`(?i)(?:api[_-]?key|secret|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|passw(?:or)?d|credential)`+
			`[a-z0-9_]{0,20}["']?\s{0,4}(?:=>|:=|[:=])\s{0,4}["']?([A-Za-z0-9+/_.=-]{16,})`, random).reaching(32, farthest),
	rule("assignment", "_token", `\b[A-Z][A-Z0-9_]{1,60}_TOKEN["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9+/_.=-]{20,})`, opaque).reaching(80, farthest),
}

// random reports whether a value looks like drawn by chance: of words and of numbers in a sequence it is not.
func random(value []byte) bool {
	var count [256]int
	digit, letter := false, false
	for _, b := range value {
		count[b]++
		digit = digit || b >= '0' && b <= '9'
		letter = letter || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(value))
			bits -= p * math.Log2(p)
		}
	}
	return digit && letter && bits >= 3 && !wordy.Match(value)
}

// wordy is a name that is put together from words and numbers, as of a key in a configuration or of a file.
var wordy = regexp.MustCompile(`^(?:[a-z]{3,12}|[A-Z]{3,12}|v?[0-9]{1,4})(?:[._/-](?:[a-z]{2,12}|[A-Z]{2,12}|v?[0-9]{1,4}))+$`)

// opaque reports a random value that is no id and no hash.
func opaque(value []byte) bool { return random(value) && !identifier.Match(value) }

// identifier is a UUID, or a hash in hexadecimal.
var identifier = regexp.MustCompile(`^(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$`)

// filledIn reports whether a password is one, and not what an example has in its place.
func filledIn(value []byte) bool {
	if len(bytes.Trim(value, string(value[:1]))) == 0 { // xxxxxxxx
		return false
	}
	return !example.Match(value) && !variable.Match(value)
}

// variable is what is filled in later: by a shell, a template or a person.
var variable = regexp.MustCompile(`^(?:\$[{(].*|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|<.*|\{.*|\[.*\]|%[sv(].*|.*(?:\.\.\.|…).*)$`)

// example is a word for a password.
var example = regexp.MustCompile(`^(?i)(?:(?:your|my|the|a|db|user|some|new|old)?[_-]?(?:password|passwd|passphrase|secret|token|key)(?:[_-]?here)?|change[_-]?(?:me|it)|redacted|placeholder|example)$`)

// basic reports whether base64 holds a name and a password.
func basic(value []byte) bool {
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(value), "="))
	_, password, ok := bytes.Cut(plain, []byte{':'})
	return err == nil && ok && readable(plain) && len(password) >= 6 && filledIn(password)
}
