package sacp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// The texts of the fallback object, exactly those of the specification (SACP-031, P11).
const (
	fallbackThought = "System Note: LLM failed to provide structured JSON output."
	fallbackMessage = "The LLM returned an invalid response format."
)

// Stage is where in the raw text an answer was found (section 2.3 of the rules).
type Stage int

// The stages, in the order in which they are tried. Wrapped means that none of them held an answer.
const (
	Whole    Stage = iota // the whole trimmed text (P05)
	Fence                 // a fenced block (SACP-027)
	Braces                // from the first { to the last } (SACP-028)
	Balanced              // a JSON object somewhere in the text (SACP-030)
	Wrapped
)

// String names a stage in a word.
func (s Stage) String() string {
	return [...]string{"whole", "fence", "braces", "balanced", "wrapped"}[s]
}

// Parsed is what became of the raw text of a model.
type Parsed struct {
	Answer Answer
	Stage  Stage
	// Problems are why the text was wrapped: those of the first candidate that was JSON, else of the text as a whole.
	Problems []amp.Problem
	// Warnings are unknown properties of an answer that was found (SACP-014).
	Warnings []amp.Problem
}

// Parse finds the answer in the final text of a model; what its tool loop printed is not for it (SACP-033). The first candidate that
// is a valid SACP object wins, whatever stands around it. Without one the answer is the fallback object, which holds the text
// unmodified in data.raw_output (SACP-031, SACP-032), and, when something was JSON at all, data.validation_errors (P04). The time that it takes
// is in proportion to the text, also for hostile ones.
func Parse(raw []byte) Parsed {
	var first []amp.Problem
	for stage, text := range Candidates(raw) {
		a, problems, warnings := Decode(text)
		if len(problems) == 0 {
			return Parsed{Answer: a, Stage: stage, Warnings: warnings}
		}
		if first == nil && jsontext.Value(text).IsValid() && (stage < Balanced || intended(text)) {
			first = problems
		}
	}
	p := Parsed{Stage: Wrapped, Problems: first}
	if first == nil {
		p.Problems = []amp.Problem{{Rule: "SACP-001", Message: "no JSON object was found in it"}}
	}
	p.Answer = wrap(raw, first)
	return p
}

// intended reports whether an object has a property of an answer: a part of another object mostly has none.
func intended(text []byte) bool {
	in := members(text)
	return slices.ContainsFunc(required, func(name string) bool { return in[name] != nil })
}

// IsWrapper reports whether an answer is the fallback object. Such a one is shown and never counts as a rejection.
func (a Answer) IsWrapper() bool {
	_, has := members(a.Data)["raw_output"]
	return has && a.Thought == fallbackThought && a.Status == Failure
}

// wrap is the fallback object around a text.
func wrap(raw []byte, problems []amp.Problem) Answer {
	data := struct {
		RawOutput string `json:"raw_output"`
		// RawBase64 is there when the text is no valid UTF-8, which a JSON string cannot hold unmodified.
		RawBase64        string   `json:"raw_base64,omitzero"`
		ValidationErrors []string `json:"validation_errors,omitzero"`
	}{RawOutput: string(raw)}
	if !utf8.Valid(raw) {
		data.RawOutput = strings.ToValidUTF8(string(raw), "\uFFFD")
		data.RawBase64 = base64.StdEncoding.EncodeToString(raw)
	}
	for _, p := range problems {
		data.ValidationErrors = append(data.ValidationErrors, p.String())
	}
	b, err := json.Marshal(&data)
	if err != nil { // strings that are valid UTF-8 always have a JSON form
		panic(fmt.Sprintf("sacp: encode the fallback object: %v", err))
	}
	return Answer{Thought: fallbackThought, Status: Failure, Data: b, Message: fallbackMessage}
}

// fence finds fenced blocks, whatever their language.
var fence = regexp.MustCompile("(?s)```[A-Za-z0-9_-]*[ \t]*\r?\n?(.*?)```")

// searchFactor bounds how many bytes are read while looking for objects inside a text, in multiples of its length.
const searchFactor = 32

// Candidates are the parts of a text that may be the answer, in the order of the stages; most are no JSON. The time that it takes is in
// proportion to the text.
func Candidates(raw []byte) iter.Seq2[Stage, []byte] {
	return func(yield func(Stage, []byte) bool) {
		if !yield(Whole, raw) {
			return
		}
		for _, m := range fence.FindAllSubmatch(raw, -1) {
			if !yield(Fence, m[1]) {
				return
			}
		}
		from, to := bytes.IndexByte(raw, '{'), bytes.LastIndexByte(raw, '}')
		if from < 0 || to < from {
			return
		}
		if !yield(Braces, raw[from:to+1]) {
			return
		}
		for text := range objects(raw[from:to+1], new(int)) {
			if !yield(Balanced, text) {
				return
			}
		}
	}
}

// objects are the JSON objects in a text, by their first brace, also those inside others. It reads at most searchFactor times the text
// and a little, and adds what it read to spent.
func objects(text []byte, spent *int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		most := *spent + searchFactor*(len(text)+1024)
		for at := 0; at < len(text) && *spent < most; at++ {
			skip := bytes.IndexByte(text[at:], '{')
			if skip < 0 {
				return
			}
			at += skip
			*spent += skip + 64 // what an attempt costs by itself
			if next := bytes.TrimLeft(text[at+1:], " \t\r\n"); len(next) == 0 || next[0] != '"' && next[0] != '}' {
				continue
			}
			dec := jsontext.NewDecoder(bytes.NewReader(text[at:]))
			value, err := dec.ReadValue()
			*spent += readBytes(dec, err, len(text)-at)
			if err == nil && !yield(bytes.Clone(value)) {
				return
			}
		}
	}
}

// readBytes is how far a decoder came in so many bytes.
func readBytes(dec *jsontext.Decoder, err error, most int) int {
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		return int(bad.ByteOffset)
	}
	if err != nil {
		return most
	}
	return int(dec.InputOffset())
}

// members are the properties of an object, nil for anything else.
func members(v jsontext.Value) map[string]jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	var out map[string]jsontext.Value
	if err := json.Unmarshal(v, &out); err != nil {
		return nil
	}
	return out
}
