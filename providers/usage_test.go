package providers

import (
	"errors"
	"math"
	"testing"
)

// What agents say of themselves adds up to a number that can be written down, whatever they say.
func TestUsage_Plus_bounded(t *testing.T) {
	t.Parallel()
	most := Usage{Input: math.MaxInt, Cached: math.MaxInt, CacheWrite: math.MaxInt, Output: math.MaxInt, Tokens: math.MaxInt, CostUSD: math.MaxFloat64}
	sum := most.Plus(most).Plus(most)
	for name, n := range map[string]int{"input": sum.Input, "cached": sum.Cached, "written": sum.CacheWrite, "output": sum.Output, "tokens": sum.Tokens} {
		if n <= 0 {
			t.Errorf("%s = %d", name, n)
		}
	}
	if math.IsInf(sum.CostUSD, 0) || sum.CostUSD <= 0 {
		t.Errorf("cost = %v", sum.CostUSD)
	}
	if got := (Usage{Tokens: 5, CostUSD: 1}).Plus(Usage{Tokens: -7, CostUSD: -3, Model: "m"}); got != (Usage{Tokens: 5, CostUSD: 1, Model: "m"}) {
		t.Errorf("with less than nothing = %+v", got)
	}
}

// A turn that failed is counted once: adapters say what it took in the error, and in the outcome beside it.
func TestSpent_once(t *testing.T) {
	t.Parallel()
	used := Usage{Tokens: 7, CostUSD: 0.5}
	for name, tc := range map[string]struct {
		out Usage
		err error
	}{
		"both":       {used, &TurnError{Usage: used}},
		"error":      {Usage{}, &TurnError{Usage: used}},
		"outcome":    {used, &TurnError{}},
		"no failure": {used, nil},
		"unproven":   {used, errors.Join(errors.New("x"), &TurnError{Usage: used})},
	} {
		if got := Spent(Outcome{Usage: tc.out}, tc.err); got != used {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
