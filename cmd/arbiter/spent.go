package main

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
)

// budgetText is a budget in words; "" has no bound.
func budgetText(b amp.Budget) string {
	var parts []string
	if b.Turns > 0 {
		parts = append(parts, plural(b.Turns, "turn"))
	}
	if b.WallSec > 0 {
		parts = append(parts, seconds(b.WallSec)+" of work")
	}
	if b.Tokens > 0 {
		parts = append(parts, plural(b.Tokens, "token"))
	}
	if b.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", b.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// usageText is what turns took, in the words of budgetText.
func usageText(u amp.Usage) string {
	b := amp.Budget{Turns: u.Turns, WallSec: int(u.Took() / time.Second), Tokens: u.Tokens, CostUSD: u.CostUSD}
	if text := budgetText(b); text != "" {
		return text
	}
	return "nothing"
}
