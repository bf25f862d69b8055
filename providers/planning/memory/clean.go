package memory

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"arbiter/providers/sacp"
)

// personal finds what tells of a person or a machine: addresses, numbers, home folders.
var personal = []*regexp.Regexp{
	regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]+`),
	regexp.MustCompile(`(?i)(/home/|/Users/|\\Users\\|~/|/root/)`),
	regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b`),
	regexp.MustCompile(`\+?\d[\d ()/-]{7,}\d`),
}

// maxQuote is how much of an input may stand in an entry word by word.
const maxQuote = 48

// Input is what an entry must not repeat: texts of people and models, and names of people.
type Input struct {
	Texts []string
	Names []string
}

// Clean says what keeps a text out of the memory: it is empty, too long, more than one line, holds a secret or personal data, or repeats its
// input.
func Clean(text string, in *Input) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("it is empty")
	case len(text) > maxText:
		return fmt.Errorf("it has %d bytes, more than %d", len(text), maxText)
	case strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
	}):
		return errors.New("it is more than one line of plain text")
	}
	for _, re := range sacp.Secrets {
		if re.MatchString(text) {
			return errors.New("it holds what looks like a key or a password")
		}
	}
	for _, re := range personal {
		if re.MatchString(text) {
			return errors.New("it holds what looks like personal data")
		}
	}
	if in == nil {
		return nil
	}
	for _, name := range in.Names {
		if len(name) > 1 && regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(name)+`\b`).MatchString(text) {
			return errors.New("it names a person")
		}
	}
	flat := fold(text)
	for i := 0; i+maxQuote <= len(flat); i++ {
		for _, t := range in.Texts {
			if strings.Contains(t, flat[i:i+maxQuote]) {
				return errors.New("it repeats what was put in")
			}
		}
	}
	return nil
}

// fold makes texts comparable: their words in one case, one space between them.
func fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
