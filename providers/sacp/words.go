package sacp

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// KindName is what a person calls a kind of JSON value.
func KindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return "no JSON"
	}
}

// Clip shortens what a model wrote to at most so many bytes, with a sign that something was cut.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// clip is [Clip] for an error text.
func clip(s string) string { return Clip(s, 60) }
