package coordinator

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// overBudget asks the admin when a bound of the task or of the day is reached: it pauses, it never kills.
func (c *Coordinator) overBudget(t *amp.Task, now time.Time) []amp.Record {
	q := amp.Question{QuestionID: c.cfg.NewID(), TaskID: t.ID, Type: amp.QuestionBudget}
	if text := overTask(t, c.cfg.Budget); text != "" {
		q.Request, q.Options = text, []string{"raise_limit", "terminate"}
	} else if text := c.overDay(t, now); text != "" {
		tomorrow := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		q.Request, q.Options, q.Expires = text, []string{amp.OptionToday}, &tomorrow
	} else {
		return nil
	}
	return []amp.Record{c.record(amp.KindQuestion, t.ID, amp.Coordinator, actor, now, q)}
}

// overTask says which bound of the task is reached, the task's own before the configured one.
func overTask(t *amp.Task, b amp.Budget) string {
	b = t.Limits.Or(b)
	switch {
	case b.Turns > 0 && t.Spent.Turns >= b.Turns:
		return fmt.Sprintf("%d of %d turns are used", t.Spent.Turns, b.Turns)
	case b.WallSec > 0 && t.Spent.WallSec >= b.WallSec:
		return fmt.Sprintf("%s of %s working time are used", seconds(t.Spent.WallSec), seconds(b.WallSec))
	case b.Tokens > 0 && t.Usage.Tokens >= b.Tokens:
		return fmt.Sprintf("%d of %d tokens are used", t.Usage.Tokens, b.Tokens)
	case b.CostUSD > 0 && t.Usage.CostUSD >= b.CostUSD:
		return fmt.Sprintf("$%.2f of $%.2f cost are used", t.Usage.CostUSD, b.CostUSD)
	}
	return ""
}

// overDay says which bound of the day is reached by all tasks together, "" when none is or the admin let this task go on today.
func (c *Coordinator) overDay(t *amp.Task, now time.Time) string {
	b, today := c.cfg.DayBudget, amp.DayOf(now)
	if b.Tokens <= 0 && b.CostUSD <= 0 || t.PassDay == today {
		return ""
	}
	used := c.board.UsedOn(now)
	switch {
	case b.Tokens > 0 && used.Tokens >= b.Tokens:
		return fmt.Sprintf("%d of %d tokens of today (%s, UTC) are used by all tasks", used.Tokens, b.Tokens, today)
	case b.CostUSD > 0 && used.CostUSD >= b.CostUSD:
		return fmt.Sprintf("$%.2f of $%.2f of today (%s, UTC) are used by all tasks", used.CostUSD, b.CostUSD, today)
	}
	return ""
}

// cost is what a turn cost: by the price of its model, else as the agent says.
func (c *Coordinator) cost(u providers.Usage) float64 {
	if price, ok := c.price(u.Model); ok {
		return price.Cost(u)
	}
	return u.CostUSD
}

// price is the price of a model by its name, or of the longest name with * at its end that it begins with.
func (c *Coordinator) price(model string) (providers.Price, bool) {
	if p, ok := c.cfg.Prices[model]; ok {
		return p, true
	}
	var found providers.Price
	best := -1
	for name, p := range c.cfg.Prices {
		if prefix, open := strings.CutSuffix(name, "*"); open && strings.HasPrefix(model, prefix) && len(prefix) > best {
			found, best = p, len(prefix)
		}
	}
	return found, best >= 0
}
