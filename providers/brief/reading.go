package brief

import (
	"encoding/json"
	"fmt"
	"strings"

	"arbiter/providers"
	"arbiter/providers/sacp"
)

// guard keeps keys and passwords out of what a failure says (SACP-040).
var guard = sacp.Guard{Sensitive: sacp.Secrets}

// Read takes a model's final text into the outcome: the payload, or the question to the admin, and the SACP object that held it. Of a turn with
// a Prompt it is the text alone. The error says why there is neither; the object stays in the outcome.
func Read(turn *providers.Turn, text string, out *providers.Outcome) *providers.TurnError {
	if turn.Prompt != nil {
		if strings.TrimSpace(text) == "" {
			return fail("it ended its turn without an answer")
		}
		out.Text = text
		return nil
	}
	parsed := sacp.Parse([]byte(text))
	answer, _ := guard.Apply(parsed.Answer)
	raw, err := answer.Encode()
	if err != nil {
		return fail("its answer cannot be written down: %v", err)
	}
	out.Answer = raw
	switch {
	case strings.TrimSpace(text) == "":
		return fail("it ended its turn without an answer, which is no SACP object")
	case parsed.Stage == sacp.Wrapped:
		return fail("its answer is no SACP object: %v", parsed.Problems)
	case answer.Status == sacp.Clarification:
		out.Question = answer.Message
		return nil
	case answer.Status == sacp.Failure && empty(answer.Data):
		return fail("it gave up: %s", answer.Message)
	case empty(answer.Data):
		return fail("its answer has status %s and no data", answer.Status)
	}
	out.Final = json.RawMessage(answer.Data)
	return nil
}

func fail(format string, args ...any) *providers.TurnError {
	return &providers.TurnError{Failure: providers.FailAnswer, Text: fmt.Sprintf(format, args...)}
}

func empty(data []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(data, &members) != nil || len(members) == 0
}
