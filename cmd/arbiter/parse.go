package main

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/sacp"
	"arbiter/ssot/events"
)

func newParse(a *app) *cobra.Command {
	format, strict := "sacp", false
	c := &cobra.Command{
		Use:   "parse FILE...",
		Short: "Print the answer that is in the text of a model, or the events or messages in a file, as JSON",
		Long: "Find the answer in what a model wrote, one text per file, - is standard input, and print it as one line of JSON. What holds no\n" +
			"answer is wrapped in the fallback object, with the text in data.raw_output. Why, and what is not known, goes to standard error.\n" +
			"With --format berrys each event of a file, or of the batch in it, is printed as one line; those that are refused are not. With\n" +
			"--format agentmessage each message of the bus in a file is, one after the other.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{what: "parse needs a FILE, or - for standard input", next: "arbiter parse --format sacp answer.txt"}
			}
			return nil
		},
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			switch format {
			case "sacp":
				return a.parse(args, strict)
			case "berrys":
				return a.parseEvents(args, strict)
			case "agentmessage":
				return a.parseMessages(args, strict)
			}
			return usage("--format is %q, want sacp, berrys or agentmessage", format)
		}),
	}
	c.Flags().StringVar(&format, "format", format, "the format: sacp for answers, berrys for events, or agentmessage for messages of the bus")
	c.Flags().BoolVar(&strict, "strict", false, "exit code 3 when a text was wrapped, or something is odd or not known")
	return c
}

func (a *app) parse(files []string, strict bool) error {
	odd := false
	for _, file := range files {
		text, err := a.readMessage(file)
		if err != nil {
			return err
		}
		p := sacp.Parse(text)
		out, err := p.Answer.Encode()
		if err != nil {
			return err
		}
		a.out("%s\n", out)
		a.remark(file, "wrapped", p.Problems)
		a.remark(file, "warning", p.Warnings)
		odd = odd || len(p.Problems)+len(p.Warnings) > 0
	}
	if odd && strict {
		return &quietError{code: exitRefused}
	}
	return nil
}

// parseEvents prints the events of files. One that is refused is named, and makes the exit code 3; it does not lose the others.
func (a *app) parseEvents(files []string, strict bool) error {
	odd := false
	for _, file := range files {
		data, err := a.readMessage(file)
		if err != nil {
			return err
		}
		all := []jsontext.Value{data}
		if e, errs, _ := events.Decode(data); len(errs) == 0 && e.Type == events.Batch {
			all = events.Messages(data)
		}
		for _, raw := range all {
			_, errs, warnings := events.Decode(raw)
			a.remark(file, "refused", errs)
			a.remark(file, "warning", warnings)
			odd = odd || len(errs) > 0 || strict && len(warnings) > 0
			if len(errs) == 0 && raw.Compact() == nil {
				a.out("%s\n", raw)
			}
		}
	}
	if odd {
		return &quietError{code: exitRefused}
	}
	return nil
}

// parseMessages prints the messages of the bus in files, one or more in each. One that is refused is named, and makes the exit code 3; it does not
// lose the others.
func (a *app) parseMessages(files []string, strict bool) error {
	odd := false
	for _, file := range files {
		data, err := a.readMessage(file)
		if err != nil {
			return err
		}
		for len(data) > 0 {
			raw, rest := firstValue(data)
			data = rest
			v := validation{}
			judgeAgentMessage(raw, strict, &v)
			a.remark(file, "refused", v.Errors)
			a.remark(file, "warning", v.Warnings)
			odd = odd || len(v.Errors) > 0 || strict && len(v.Warnings) > 0
			if len(v.Errors) == 0 && raw.Compact() == nil {
				a.out("%s\n", raw)
			}
		}
	}
	if odd {
		return &quietError{code: exitRefused}
	}
	return nil
}

// firstValue is the first JSON value of some bytes, and what stands behind it. What is no JSON is taken as one.
func firstValue(data []byte) (first jsontext.Value, rest []byte) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	first, err := d.ReadValue()
	if err != nil {
		return data, nil
	}
	return first, bytes.TrimSpace(data[d.InputOffset():])
}

// remark says what is to be said of a file beside the answer.
func (a *app) remark(file, word string, problems []amp.Problem) {
	for _, p := range problems {
		a.complain(safe(file) + ": " + word + ": " + safe(p.String()))
	}
}
