package amp

import (
	"cmp"
	"fmt"
	"time"
)

// Budget bounds a task. A zero field means the configured default; reaching a bound pauses the task and asks.
type Budget struct {
	// WallSec is the working time of all turns of the task, in seconds.
	WallSec int `json:"wall_sec,omitzero"`
	Turns   int `json:"turns,omitzero"`
	// Tokens and CostUSD are of all turns of the task, as [Usage] counts them.
	Tokens  int     `json:"tokens,omitzero"`
	CostUSD float64 `json:"cost_usd,omitzero"`
}

// Or is the budget with the bounds of other where it has none itself: what is below zero is none.
func (b Budget) Or(other Budget) Budget {
	return Budget{
		WallSec: cmp.Or(max(0, b.WallSec), other.WallSec), Turns: cmp.Or(max(0, b.Turns), other.Turns),
		Tokens: cmp.Or(max(0, b.Tokens), other.Tokens), CostUSD: cmp.Or(max(0, b.CostUSD), other.CostUSD),
	}
}

// Within is the budget with no bound above that of most, where most has one; over says in words which bounds were above, "50 turns".
func (b Budget) Within(most Budget) (within Budget, over []string) {
	if most.WallSec > 0 && b.WallSec > most.WallSec {
		over = append(over, (time.Duration(b.WallSec)*time.Second).String()+" of work")
		b.WallSec = most.WallSec
	}
	if most.Turns > 0 && b.Turns > most.Turns {
		over = append(over, fmt.Sprintf("%d turns", b.Turns))
		b.Turns = most.Turns
	}
	if most.Tokens > 0 && b.Tokens > most.Tokens {
		over = append(over, fmt.Sprintf("%d tokens", b.Tokens))
		b.Tokens = most.Tokens
	}
	if most.CostUSD > 0 && b.CostUSD > most.CostUSD {
		over = append(over, fmt.Sprintf("$%.2f", b.CostUSD))
		b.CostUSD = most.CostUSD
	}
	return b, over
}
