package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
)

func newAnswer(a *app) *cobra.Command {
	d, question, option := &decision{}, "", ""
	c := &cobra.Command{
		Use: "answer TASK --option TEXT", Short: "Answer a question that needs you", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			k, t, err := a.open(c.Context(), args[0], amp.Answer)
			if err != nil {
				return err
			}
			q, err := questionOf(t, question)
			if err != nil {
				return err
			}
			if option == "" && d.note == "" {
				return usage("answer needs --option, one of: %s", strings.Join(q.Options, " | ")).then("Or your own words with --note.")
			}
			return k.submit(c.Context(), t, amp.Answer, d, amp.Args{Question: q.QuestionID, Option: option})
		}),
	}
	d.flags(c)
	c.Flags().StringVar(&question, "question", "", "the question's id, when several wait")
	c.Flags().StringVar(&option, "option", "", "the answer")
	return c
}

// questionOf is the question that is meant: the named one, or the only one.
func questionOf(t *amp.Task, id string) (*amp.QuestionState, error) {
	var ids []string
	for i := range t.Questions {
		q := &t.Questions[i]
		if q.QuestionID == id || id == "" && len(t.Questions) == 1 {
			return q, nil
		}
		ids = append(ids, q.QuestionID)
	}
	if id == "" {
		return nil, usage("%s has several questions: %s", t.ID, strings.Join(ids, ", ")).then("Name one with --question.")
	}
	return nil, &notFoundError{what: fmt.Sprintf("%s has no question %q", t.ID, id), next: "See them: arbiter task show " + string(t.ID)}
}

func newRaiseLimit(a *app) *cobra.Command {
	d, limits, wall := &decision{}, amp.Budget{}, time.Duration(0)
	c := &cobra.Command{
		Use: "raise-limit TASK [--turns N] [--wall DURATION] [--tokens N] [--cost USD]", Short: "Give a task more turns, working time, tokens or money", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			limits.WallSec = int(wall.Seconds())
			if min(limits.Turns, limits.WallSec, limits.Tokens) < 0 || limits.CostUSD < 0 || limits == (amp.Budget{}) {
				return usage("raise-limit needs --turns, --wall, --tokens or --cost, above zero").then("As: arbiter raise-limit TASK --turns 30 --wall 4h")
			}
			k, t, err := a.open(c.Context(), args[0], amp.RaiseLimit)
			if err != nil {
				return err
			}
			return k.submit(c.Context(), t, amp.RaiseLimit, d, amp.Args{Limits: &limits})
		}),
	}
	d.flags(c)
	c.Flags().IntVar(&limits.Turns, "turns", 0, "how many turns the task may have in all")
	c.Flags().IntVar(&limits.Tokens, "tokens", 0, "how many tokens all turns together may take")
	c.Flags().Float64Var(&limits.CostUSD, "cost", 0, "how much all turns together may cost, in US dollars")
	c.Flags().DurationVar(&wall, "wall", 0, "how much working time all turns together may take")
	return c
}
