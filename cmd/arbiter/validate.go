package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/bus"
	"arbiter/providers/planning/sentient"
	"arbiter/providers/sacp"
	"arbiter/ssot/events"
	"arbiter/tui/textsafe"
)

// safe makes one line of others' text safe to print.
func safe(s string) string { return textsafe.Line(s) }

// validation is what arbiter validate --json prints of a file.
type validation struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Errors   []amp.Problem `json:"errors"`
	Warnings []amp.Problem `json:"warnings"`
	// Repairs are the fields that are overwritten before a message is forwarded; only --chain knows them.
	Repairs *[]amp.Repair `json:"repairs,omitzero"`
}

func newValidate(a *app) *cobra.Command {
	format, strict, chain := "amp", false, false
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check messages against the rules of the protocol; exit code 0 when all are valid, else 3",
		Long: "Check messages, one per file, - is standard input. What can only be judged with context (an unknown task, an unresolved\n" +
			"reference) is judged when a message is submitted; with --format sentient --chain the files are the context.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{what: "validate needs a FILE, or - for standard input", next: "arbiter validate message.json"}
			}
			return nil
		},
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			judge, ok := formats[format]
			switch {
			case !ok:
				return usage("--format is %q, want %s", format, formatNames())
			case chain && format != "sentient":
				return usage("--chain judges messages of a planning chain").then("Say --format sentient too.")
			case chain:
				judge = judgeSession(&sentient.Session{Strict: strict})
			}
			return a.validate(args, strict, judge)
		}),
	}
	c.Flags().StringVar(&format, "format", format, "the format of the messages: amp, sacp for answers of models, sentient for those of a planning chain, berrys for events, or agentmessage for those of the bus")
	c.Flags().BoolVar(&strict, "strict", false, "unknown properties are errors")
	c.Flags().BoolVar(&chain, "chain", false, "with sentient: judge the files in order as one session, and say what is repaired")
	return c
}

// validate judges every file, one line each. One that cannot be read is not valid, and stops nothing.
func (a *app) validate(files []string, strict bool, judge judgement) error {
	invalid := 0
	for _, file := range files {
		data, err := a.readMessage(file)
		if errors.Is(err, context.Canceled) {
			return err
		}
		v := validation{File: file, Errors: []amp.Problem{}, Warnings: []amp.Problem{}}
		if err == nil {
			judge(data, strict, &v)
			v.Valid, v.Errors, v.Warnings = len(v.Errors) == 0, noNil(v.Errors), noNil(v.Warnings)
		}
		if err != nil {
			v = validation{File: file, Errors: []amp.Problem{{Rule: "file", Message: err.Error()}}, Warnings: []amp.Problem{}}
		}
		if !v.Valid {
			invalid++
		}
		if a.json {
			a.outJSON(v)
		} else {
			a.printValidation(&v)
		}
	}
	if invalid > 0 {
		return &quietError{code: exitRefused}
	}
	return nil
}

// readMessage reads what may be a message. One byte over the protocol's limit is enough for it to be refused for its length.
func (a *app) readMessage(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(io.LimitReader(a.typed, amp.MaxMessage+1))
	}
	return readAtMost(file, amp.MaxMessage+1)
}

// judgement says what is wrong with a message, and what is odd. In strict, unknown properties are wrong.
type judgement func(data []byte, strict bool, v *validation)

// formats are what validate knows.
var formats = map[string]judgement{"amp": judgeAMP, "sacp": judgeSACP, "sentient": judgeSentient, "berrys": judgeBerrys, "agentmessage": judgeAgentMessage}

// formatNames are the formats in words.
func formatNames() string { return either(sortedKeys(formats)) }

func judgeBerrys(data []byte, strict bool, v *validation) {
	_, v.Errors, v.Warnings = events.Decode(data)
	if strict {
		v.Errors, v.Warnings = append(v.Errors, v.Warnings...), nil
	}
}

func judgeSentient(data []byte, strict bool, v *validation) {
	decode := sentient.Decode
	if strict {
		decode = sentient.DecodeStrict
	}
	_, report := decode(data)
	v.Errors, v.Warnings = report.Errors, report.Warnings
}

// judgeSession judges a message by those before it too.
func judgeSession(s *sentient.Session) judgement {
	return func(data []byte, _ bool, v *validation) {
		j := s.Judge(data)
		repairs := noNil(j.Repairs)
		v.Errors, v.Warnings, v.Repairs = j.Errors, j.Warnings, &repairs
	}
}

func judgeAMP(data []byte, strict bool, v *validation) {
	decode := amp.Decode
	if strict {
		decode = amp.DecodeStrict
	}
	_, warnings, err := decode(data)
	v.found(warnings, err)
}

func judgeAgentMessage(data []byte, strict bool, v *validation) {
	decode := bus.Decode
	if strict {
		decode = bus.DecodeStrict
	}
	_, warnings, err := decode(data)
	v.found(warnings, err)
}

// found takes what a decoder says.
func (v *validation) found(warnings []amp.Problem, err error) {
	v.Warnings = warnings
	if invalid, ok := errors.AsType[*amp.InvalidError](err); ok {
		v.Errors = invalid.Problems
	}
}

func judgeSACP(data []byte, strict bool, v *validation) {
	_, v.Errors, v.Warnings = sacp.Decode(data)
	if strict {
		v.Errors, v.Warnings = append(v.Errors, v.Warnings...), nil
	}
}

func (a *app) printValidation(v *validation) {
	word := "valid"
	if !v.Valid {
		word = "invalid"
	}
	a.out("%s: %s\n", safe(v.File), word)
	if v.Repairs != nil {
		for _, r := range *v.Repairs {
			a.out("  repaired %s\n", safe(r.String()))
		}
	}
	for _, p := range v.Errors {
		a.out("  error    %s\n", safe(p.String()))
	}
	for _, p := range v.Warnings {
		a.out("  warning  %s\n", safe(p.String()))
	}
}
