package providers_test

import (
	"context"
	"errors"
	"fmt"

	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// A turn has ended well when Run returns no error; what the answer says is for the caller to judge.
func Example() {
	var agent providers.Agent = &agenttest.Fake{
		RunFunc: func(_ context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			emit(providers.Event{Type: providers.EventProgress, Text: "reads the code"})
			if turn.Epoch > 1 {
				return providers.Outcome{}, &providers.TurnError{Failure: providers.FailSilent, Text: "it wrote nothing for 10m0s"}
			}
			return agenttest.Final(map[string]string{"completion_status": "complete"}), nil
		},
	}
	for epoch := 1; epoch <= 2; epoch++ {
		out, err := agent.Run(context.Background(), providers.Turn{ID: "turn-1", Epoch: epoch}, func(e providers.Event) {
			fmt.Printf("%s %q\n", e.Type, e.Text)
		})
		if failed, ok := errors.AsType[*providers.TurnError](err); ok {
			fmt.Println("failed:", failed.Failure, "-", failed.Text)
			continue
		}
		fmt.Printf("answer: %s\n", out.Final)
	}
	// Output:
	// ack ""
	// progress "reads the code"
	// answer: {"completion_status":"complete"}
	// ack ""
	// progress "reads the code"
	// failed: silent - it wrote nothing for 10m0s
}
