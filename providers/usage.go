package providers

import (
	"errors"
	"math"
)

// Usage is what one turn took of a model. Counts are of this turn alone, never of the whole session.
type Usage struct {
	Model string
	// Input are all tokens read, those from a cache included; Cached is how many of them came from a cache and CacheWrite how many were
	// written to one. Output are all tokens written, reasoning included.
	Input      int
	Cached     int
	CacheWrite int
	Output     int
	// Tokens is Input and Output together; an agent that reports only a sum sets it alone.
	Tokens int
	// CostUSD is what the agent says that it cost, 0 when it says nothing. A price of the configuration counts before it.
	CostUSD float64
}

// The most of a sum: what agents say of themselves adds up to no number that overflows or cannot be written down.
const (
	maxTokens = math.MaxInt64 / 4
	maxCost   = 1e9
)

// Plus is the sum of both, bounded; the model is the last one that was named.
func (u Usage) Plus(v Usage) Usage {
	if v.Model != "" {
		u.Model = v.Model
	}
	add := func(a, b int) int { return min(max(a, 0), maxTokens) + min(max(b, 0), maxTokens) }
	u.Input, u.Cached, u.CacheWrite = add(u.Input, v.Input), add(u.Cached, v.Cached), add(u.CacheWrite, v.CacheWrite)
	u.Output, u.Tokens = add(u.Output, v.Output), add(u.Tokens, v.Tokens)
	u.CostUSD = min(max(u.CostUSD, 0)+max(v.CostUSD, 0), maxCost)
	return u
}

// Spent is what a turn took that ended so: what its error says, which is all of it, else its outcome.
func Spent(out Outcome, err error) Usage {
	if te, ok := errors.AsType[*TurnError](err); ok && te.Usage != (Usage{}) {
		return te.Usage
	}
	return out.Usage
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	Input      float64
	Cached     float64
	CacheWrite float64
	Output     float64
}

// Cost is what usage costs at this price, rounded to millionths of a dollar. Tokens that are neither input nor output cost as input.
func (p Price) Cost(u Usage) float64 {
	plain := max(u.Input-u.Cached-u.CacheWrite, 0)
	rest := max(u.Tokens-u.Input-u.Output, 0)
	cost := float64(plain+rest)*p.Input + float64(u.Cached)*p.Cached + float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output
	return math.Round(cost) / 1e6
}
