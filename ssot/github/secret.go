package github

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Known is a secret that is configured here. Its value is compared and never shown.
type Known struct {
	// Name says whose it is, as "the key of agent claude".
	Name  string
	Value string
}

// Finding is something in a text that looks like a secret.
type Finding struct {
	// Rule is the name of the rule that found it.
	Rule string
	// Sum is the SHA-256 of what was found, by which a person can let it pass.
	Sum [32]byte
	// Known is set when it is a configured secret, which nobody can let pass.
	Known bool
}

// minKnown is the least length of a configured secret that is looked for: shorter ones are in every text.
const minKnown = 8

// secretRule finds one kind of secrets. A text without any of the words is not searched; with a group, that is the secret.
type secretRule struct {
	name  string
	words []string
	form  *regexp.Regexp
	// random wants what was found to look like drawn by chance.
	random bool
}

// secretRules are the forms that providers document for their keys, and assignments that read like one.
var secretRules = []secretRule{
	{name: "private-key", words: []string{"PRIVATE KEY"}, form: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)},
	{name: "github-token", words: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, form: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{36,255}`)},
	{name: "github-token", words: []string{"github_pat_"}, form: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{50,255}`)},
	{name: "gitlab-token", words: []string{"glpat-"}, form: regexp.MustCompile(`glpat-[A-Za-z0-9_-]{20,}`)},
	{name: "anthropic-key", words: []string{"sk-ant-"}, form: regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]{20,}`)},
	{name: "openai-key", words: []string{"sk-"}, form: regexp.MustCompile(`\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}`), random: true},
	{name: "google-key", words: []string{"AIza"}, form: regexp.MustCompile(`AIza[A-Za-z0-9_-]{35}`)},
	{name: "google-oauth", words: []string{"ya29.", "GOCSPX-"}, form: regexp.MustCompile(`ya29\.[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{28}`)},
	{name: "aws-key", words: []string{"AKIA", "ASIA"}, form: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`)},
	{name: "slack-token", words: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"}, form: regexp.MustCompile(`(?:xox[abprs]|xapp)-[A-Za-z0-9-]{20,}`)},
	{name: "slack-hook", words: []string{"hooks.slack.com"}, form: regexp.MustCompile(`hooks\.slack\.com/services/[A-Za-z0-9/]{30,}`)},
	{name: "stripe-key", words: []string{"k_live_", "k_test_"}, form: regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{20,}`)},
	{name: "npm-token", words: []string{"npm_"}, form: regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{name: "pypi-token", words: []string{"pypi-AgEI"}, form: regexp.MustCompile(`pypi-AgEI[A-Za-z0-9_-]{40,}`)},
	{name: "huggingface-token", words: []string{"hf_"}, form: regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}\b`)},
	{name: "sendgrid-key", words: []string{"SG."}, form: regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}`)},
	{name: "telegram-token", words: []string{":AA"}, form: regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`)},
	{name: "jwt", words: []string{"eyJ"}, form: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}`)},
	{name: "url-password", words: []string{"://"}, form: regexp.MustCompile(`[a-z][a-z0-9+.-]{1,20}://[^/\s:@"'<>]{1,64}:([^/\s:@"'<>]{6,128})@[A-Za-z0-9]`)},
	{name: "bearer", words: []string{"earer "}, form: regexp.MustCompile(`[Bb]earer ([A-Za-z0-9+/_.=-]{24,})`), random: true},
	{
		name: "assignment", words: []string{"ey", "EY", "ecret", "ECRET", "oken", "OKEN", "assw", "ASSW", "redential", "REDENTIAL"},
		form: regexp.MustCompile(`(?i)(?:api[_-]?key|secret|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|passw(?:or)?d|credential)` +
			`[a-z0-9_]{0,20}["']?\s{0,4}(?:=>|:=|[:=])\s{0,4}["']?([A-Za-z0-9+/_.=-]{16,})`),
		random: true,
	},
}

// Scanner looks for secrets. It is not changed after it was made and safe for concurrent use.
type Scanner struct {
	known   []Known
	allowed map[[32]byte]bool
}

// NewScanner makes a scanner that knows the rules and the configured secrets. What was found with a sum that is allowed passes, but a
// configured secret never does.
func NewScanner(known []Known, allowed map[[32]byte]bool) *Scanner {
	s := &Scanner{allowed: allowed}
	for _, k := range known {
		if len(k.Value) >= minKnown {
			s.known = append(s.known, k)
		}
	}
	return s
}

// depth bounds how many layers of escapes and base64 are taken off a text.
const depth = 3

// Find returns what looks like a secret in the texts: as they are, behind the escapes of JSON in JSON, and behind base64. What is allowed
// is not among it.
func (s *Scanner) Find(texts ...[]byte) []Finding {
	var all []Finding
	for _, t := range texts {
		all = s.find(all, t, depth)
	}
	return all
}

func (s *Scanner) find(all []Finding, text []byte, layers int) []Finding {
	for _, k := range s.known {
		if bytes.Contains(text, []byte(k.Value)) {
			all = add(all, Finding{Rule: k.Name, Sum: sha256.Sum256([]byte(k.Value)), Known: true})
		}
	}
	for i := range secretRules {
		r := &secretRules[i]
		if !slices.ContainsFunc(r.words, func(w string) bool { return bytes.Contains(text, []byte(w)) }) {
			continue
		}
		for _, m := range r.form.FindAllSubmatch(text, -1) {
			found := m[len(m)-1]
			f := Finding{Rule: r.name, Sum: sha256.Sum256(found)}
			if r.random && !random(found) || s.allowed[f.Sum] {
				continue
			}
			all = add(all, f)
		}
	}
	if layers == 0 {
		return all
	}
	if plain, ok := unescape(text); ok {
		all = s.find(all, plain, layers-1)
	}
	for _, inner := range unwrap(text) {
		all = s.find(all, inner, layers-1)
	}
	return all
}

func add(all []Finding, f Finding) []Finding {
	if slices.Contains(all, f) {
		return all
	}
	return append(all, f)
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
	return digit && letter && bits >= 3
}

// unescape takes one layer of JSON's escapes off, and reports whether there was any.
func unescape(text []byte) ([]byte, bool) {
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return nil, false
	}
	out := append(make([]byte, 0, len(text)), text[:at]...)
	for i := at; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'u':
			if n, err := strconv.ParseUint(string(text[i+1:min(i+5, len(text))]), 16, 16); err == nil && i+4 < len(text) {
				out = utf8.AppendRune(out, rune(n))
				i += 4
				continue
			}
			out = append(out, 'u')
		default:
			out = append(out, text[i])
		}
	}
	return out, true
}

// minWrapped is the least length of base64 that can hold a secret.
const minWrapped = 24

// unwrap decodes the runs of base64 in a text that hold text.
func unwrap(text []byte) (all [][]byte) {
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && isWrapped(text[i]) {
			i++
		}
		run := text[from:i]
		if len(run) < minWrapped {
			continue
		}
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := run
			if len(run)%4 == 1 { // the last letter belongs to something else
				whole = run[:len(run)-1]
			}
			inner, err := enc.DecodeString(string(whole))
			if err == nil && readable(inner) {
				all = append(all, inner)
				break
			}
		}
	}
	return all
}

func isWrapped(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '_' || b == '-'
}

// readable reports whether bytes are a text: nearly all printable.
func readable(b []byte) bool {
	odd := 0
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			odd++
		}
	}
	return len(b) > 0 && odd*10 <= len(b)
}
