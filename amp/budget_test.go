package amp_test

import (
	"testing"

	"arbiter/amp"
)

// What a planner wrote below zero is no bound, and does not take the configured one away.
func TestBudget_Or(t *testing.T) {
	t.Parallel()
	configured := amp.Budget{WallSec: 600, Turns: 4, Tokens: 1000, CostUSD: 2.5}
	for name, c := range map[string]struct{ own, want amp.Budget }{
		"none":       {amp.Budget{}, configured},
		"own":        {amp.Budget{WallSec: 60, Turns: 9}, amp.Budget{WallSec: 60, Turns: 9, Tokens: 1000, CostUSD: 2.5}},
		"below zero": {amp.Budget{WallSec: -1, Turns: -4, Tokens: -1, CostUSD: -0.01}, configured},
	} {
		if got := c.own.Or(configured); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
