package github

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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

// secretWords finds the words of the rules.
var secretWords = newWordFinder(secretRules)

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
	for _, at := range secretWords.spans(text) {
		r := &secretRules[at.rule]
		for _, m := range r.form.FindAllSubmatch(text[at.from:at.to], -1) {
			found := m[len(m)-1]
			f := Finding{Rule: r.name, Sum: sha256.Sum256(found)}
			if r.real != nil && !r.real(found) || s.allowed[f.Sum] {
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
