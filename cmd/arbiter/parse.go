package main

import (
	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers/sacp"
)

func newParse(a *app) *cobra.Command {
	format, strict := "sacp", false
	c := &cobra.Command{
		Use:   "parse FILE...",
		Short: "Print the answer that is in the text of a model, as JSON; text without one is wrapped",
		Long: "Find the answer in what a model wrote, one text per file, - is standard input, and print it as one line of JSON. What holds no\n" +
			"answer is wrapped in the fallback object, with the text in data.raw_output. Why, and what is not known, goes to standard error.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{what: "parse needs a FILE, or - for standard input", next: "arbiter parse --format sacp answer.txt"}
			}
			return nil
		},
		RunE: a.do(func(_ *cobra.Command, args []string) error {
			if format != "sacp" {
				return usage("--format is %q, want sacp", format)
			}
			return a.parse(args, strict)
		}),
	}
	c.Flags().StringVar(&format, "format", format, "the format of the answers: sacp")
	c.Flags().BoolVar(&strict, "strict", false, "exit code 3 when a text was wrapped or holds unknown properties")
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

// remark says what is to be said of a file beside the answer.
func (a *app) remark(file, word string, problems []amp.Problem) {
	for _, p := range problems {
		a.complain(safe(file) + ": " + word + ": " + safe(p.String()))
	}
}
