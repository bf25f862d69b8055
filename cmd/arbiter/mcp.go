package main

import (
	"context"
	"encoding/json"
	"errors"
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
	brief.Ack:           "Say that you accept the message, or that you refuse it and why. Agents that Arbiter started accept without it.",
	readMessage:         "Read the message that you are to answer now, with everything that it asks for.",
}

func newMCP(a *app) *cobra.Command {
	from, task := &sender{}, ""
	c := &cobra.Command{
		Use: "mcp --role executor|reviewer --task TASK", Short: "Serve tools by which an agent of yours takes part in a task, over MCP on standard input and output",
		Long: "Serve tools by which an agent of yours takes part in a task, over MCP on standard input and output: it reads its message, acknowledges it,\n" +
			"hands in its result or verdict, and escalates. Agents that Arbiter starts are given this server without flags.",
		Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			turn := &providers.Turn{Task: amp.TaskID(os.Getenv(brief.TaskVar)), Role: amp.Role(os.Getenv(brief.RoleVar))}
			tools, take := brief.Tools(turn.Role), fileTaker(turn, os.Getenv(brief.SubmitVar))
			if from.as != "" || task != "" {
				d, err := a.openDoor(c.Context(), from, task)
				if err != nil {
					return err
				}
				turn.Role, tools, take = d.from.As, d.tools(), d.take
			} else if os.Getenv(brief.SubmitVar) == "" || turn.Task == "" || len(tools) == 0 {
				return usage("arbiter mcp was started by nobody's turn").
					then("For an agent of your own say which task it works on: arbiter mcp --role executor --task TASK")
			}
			server, err := mcpServer(turn.Role, tools, take)
			if err != nil {
				return err
			}
			return server.Run(c.Context(), &mcp.IOTransport{Reader: io.NopCloser(a.typed), Writer: unclosed{a.stdout}})
		}),
	}
	c.Flags().StringVar(&from.as, "role", "", "the role that the agent speaks for: executor or reviewer")
	c.Flags().StringVar(&from.actor, "actor", "", "the agent's name (default $ARBITER_AGENT, else your user name)")
	c.Flags().StringVar(&task, "task", "", "the task that it works on")
	return c
}

// openDoor attaches to the coordinator for an agent that Arbiter does not start.
func (a *app) openDoor(ctx context.Context, from *sender, task string) (*door, error) {
	if as := amp.Role(from.as); as != amp.Executor && as != amp.Reviewer {
		return nil, usage("--role is %q: only an executor and a reviewer hand in this way", from.as).then("A plan is proposed with arbiter plan propose.")
	}
	if task == "" {
		return nil, usage("--task is missing").then("The tasks: arbiter task list")
	}
	in, err := from.received(nil, "")
	if err != nil {
		return nil, err
	}
	in.Source = "mcp"
	client, err := a.attach(ctx)
	if err != nil {
		return nil, err
	}
	b, err := board(ctx, client)
	if err != nil {
		return nil, err
	}
	t, err := findTask(b, task)
	if err != nil {
		return nil, err
	}
	return &door{client: client, task: t.ID, from: in}, nil
}

// unclosed is a writer that is not ours to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// taker takes what a tool was called with; its text is the tool's answer.
type taker func(context.Context, *brief.Submission) (string, error)

// fileTaker checks what the agent of a turn hands in at once and writes it to the file.
func fileTaker(turn *providers.Turn, file string) taker {
	return func(_ context.Context, s *brief.Submission) (string, error) {
		if problems := brief.CheckSubmission(turn, s); len(problems) > 0 {
			return "", errors.New("it was refused; mend this and call the tool again:\n" + strings.Join(problems, "\n"))
		}
		return "It is handed in. It is judged when your turn has ended; end it now, unless there is more to do.", s.Append(file)
	}
}

// mcpServer offers the tools of a role.
func mcpServer(role amp.Role, tools []string, take taker) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "arbiter", Version: version()}, nil)
	for _, name := range tools {
		schema, err := toolSchema(role, name)
		if err != nil {
			return nil, err
		}
		server.AddTool(&mcp.Tool{Name: name, Description: mcpWords[name], InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := take(ctx, &brief.Submission{Tool: name, Payload: slices.Clone(r.Params.Arguments)})
			if err != nil {
				return toolAnswer(true, toolTrouble(err)), nil
			}
			return toolAnswer(false, text), nil
		})
	}
	return server, nil
}

// toolTrouble is an error as a model reads it.
func toolTrouble(err error) string {
	e := explain(err)
	var text strings.Builder
	text.WriteString(e.What)
	for _, p := range e.Problems {
		text.WriteString("\n" + p.String())
	}
	if e.Next != "" {
		text.WriteString("\nNext: " + e.Next)
	}
	return text.String()
}

func toolAnswer(refused bool, text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: refused, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// toolSchema is the schema of a tool as every client takes it: an object, without an address of its own.
func toolSchema(role amp.Role, tool string) (map[string]any, error) {
	if tool == readMessage {
		return map[string]any{"type": "object", "additionalProperties": false}, nil
	}
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
	// Services of models refuse tools with these at the top, and some programs leave such a tool out. What they say is checked in any case.
	for _, word := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"} {
		delete(schema, word)
	}
	return schema, nil
}
