package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
)

// mcpWords say what the tools are for.
var mcpWords = map[string]string{
	brief.SubmitResult:  "Hand in the result of your subtask, the payload of a task_result. It takes the place of your final answer.",
	brief.SubmitVerdict: "Hand in your verdict, the payload of a review_verdict. It takes the place of your final answer.",
	brief.SubmitPlan:    "Hand in the plan. It takes the place of your final answer.",
	brief.Ask:           "Ask the admin for what only a person can know, in the place of an answer; then end your turn. The answer comes in the next one.",
	brief.Escalate:      "Say that something needs the admin now: the payload of an escalation.",
	brief.Ack:           "Say that you refuse the message, and why. That you accepted it is said for you.",
}

func newMCP(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Short: "Serve the tools by which an agent hands in its answer, over MCP on standard input and output", Args: takes(), Hidden: true,
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			turn := &providers.Turn{Task: amp.TaskID(os.Getenv(brief.TaskVar)), Role: amp.Role(os.Getenv(brief.RoleVar))}
			file := os.Getenv(brief.SubmitVar)
			if file == "" || turn.Task == "" || len(brief.Tools(turn.Role)) == 0 {
				return usage("arbiter mcp is started by the agents that Arbiter starts").
					then("Set mcp = true for an agent; others hand in messages with arbiter message submit.")
			}
			server, err := mcpServer(turn, file)
			if err != nil {
				return err
			}
			return server.Run(c.Context(), &mcp.IOTransport{Reader: io.NopCloser(a.stdin), Writer: unclosed{a.stdout}})
		}),
	}
}

// unclosed is a writer that is not ours to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// mcpServer offers the tools of a turn; what they take is checked at once and written to the file.
func mcpServer(turn *providers.Turn, file string) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "arbiter", Version: version()}, nil)
	for _, name := range brief.Tools(turn.Role) {
		schema, err := toolSchema(turn.Role, name)
		if err != nil {
			return nil, err
		}
		server.AddTool(&mcp.Tool{Name: name, Description: mcpWords[name], InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s := &brief.Submission{Tool: name, Payload: slices.Clone(r.Params.Arguments)}
			if problems := brief.CheckSubmission(turn, s); len(problems) > 0 {
				return toolAnswer(true, "It was refused; mend this and call the tool again:\n"+strings.Join(problems, "\n")), nil
			}
			if err := s.Append(file); err != nil {
				return toolAnswer(true, err.Error()), nil
			}
			return toolAnswer(false, "It is handed in. It is judged when your turn has ended; end it now, unless there is more to do."), nil
		})
	}
	return server, nil
}

func toolAnswer(refused bool, text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: refused, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// toolSchema is the schema of a tool as every client takes it: an object, without an address of its own.
func toolSchema(role amp.Role, tool string) (map[string]any, error) {
	raw, err := brief.ToolSchema(role, tool)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	delete(schema, "$schema")
	delete(schema, "$id")
	return schema, nil
}
