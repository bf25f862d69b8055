package planning

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
)

// Format tells a model what a message looks like.
//
//go:embed prompts/format.md
var Format string

//go:embed prompts/objective.md
var objectiveText string

//go:embed prompts/goal.md
var goalText string

//go:embed prompts/planning.md
var planningText string

var systems = map[amp.ChainStage]string{
	amp.StageObjective: objectiveText, amp.StageGoal: goalText, amp.StagePlanning: planningText,
}

// prompt is what the agent of a stage is told: the wish, what earlier tasks taught, the message before, and why its last message was held.
func (c *chain) prompt(stage amp.ChainStage) providers.Prompt {
	var b strings.Builder
	brief.Block(&b, "The wish, the repository, and what stands so far", c.order.said())
	if stage == amp.StageObjective {
		fmt.Fprintf(&b, "Use session_id %q and request_id %q.\n\n", "session-"+c.turn.ID, string(c.turn.Task)+"-"+c.order.basis())
		if text := capTokens(c.order.Memory, MemoryTokens); text != "" {
			brief.Block(&b, "What earlier tasks taught; hints, which may be wrong", []byte(text))
		}
	} else {
		before := c.done[len(c.done)-1]
		brief.Block(&b, "The message before yours, of the "+before.message.AgentName, before.entry.Message)
	}
	if c.last != nil && c.last.Stage == stage {
		c.feedback(&b)
	}
	if r := c.turn.Reply; r != nil {
		brief.Block(&b, "The admin was asked", []byte(r.Question))
		brief.Block(&b, "The admin's answer", []byte(r.Answer))
	}
	b.WriteString("Write your message.\n")
	return providers.Prompt{System: systems[stage] + "\n" + Format, Text: b.String()}
}

// feedback says what became of the stage's last message, so that the next one is better.
func (c *chain) feedback(b *strings.Builder) {
	fmt.Fprintf(b, "Your last message for this was not forwarded (%s).", c.last.Result)
	for _, p := range c.last.Problems {
		fmt.Fprintf(b, "\n- %s", p)
	}
	b.WriteString("\n\n")
}

// MemoryTokens is how much of the memory reaches a planning.
const MemoryTokens = 2000

// Tokens is how many tokens a text has at most, as far as that can be said without the model's own tokenizer: a token of three bytes is
// shorter than the usual one of any language.
func Tokens(text string) int { return (len(text) + 2) / 3 }

// capTokens is the whole lines at the start of a text that have at most n tokens.
func capTokens(text string, n int) string {
	if Tokens(text) <= n {
		return text
	}
	cut := n * 3
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if line := strings.LastIndexByte(text[:cut], '\n'); line >= 0 {
		return text[:line+1]
	}
	return text[:cut]
}
