package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wants says what a flag of a type takes, in the words of the person who gives it.
var wants = map[string]string{
	"int": "a whole number", "int64": "a whole number",
	"uint": "a whole number, not below zero", "uint64": "a whole number, not below zero",
	"float64": "a number", "duration": "a time such as 90s, 20m or 4h", "bool": "true or false",
}

// wrongFlag is what the person reads when the flags of c cannot be understood.
func wrongFlag(c *cobra.Command, err error) error {
	what := err.Error()
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := wants[bad.GetFlag().Value.Type()]; want != "" {
			what = fmt.Sprintf("--%s is %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	}
	return &usageError{what: what, next: "See " + c.CommandPath() + " --help."}
}
