package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
)

// tools is the command of the server, which nothing starts here.
var tools = []string{"arbiter", "mcp"}

// mcpClient is a client of the tools of a turn.
func mcpClient(t *testing.T, turn *providers.Turn) *mcp.ClientSession {
	t.Helper()
	server, err := mcpServer(turn.Role, brief.Tools(turn.Role), fileTaker(turn, brief.ServerOf(turn, tools).Env[2].Value))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := mcp.NewInMemoryTransports()
	s, err := server.Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Wait() })
	return c
}

func callTool(t *testing.T, c *mcp.ClientSession, tool, input string) (text string, refused bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

const goodVerdict = `{"decision":"approved","criteria_results":[{"criterion":"a","passed":true,"evidence":"e"}],"confidence":0.9}`

// TestMCP: a claim is checked as any other, a refusal names rule and field, and the last good one is read before the final text.
func TestMCP(t *testing.T) {
	t.Parallel()
	turn := &providers.Turn{ID: "t-1", Task: "T-2026-001", Role: amp.Reviewer, Home: filepath.Join(t.TempDir(), "home")}
	c := mcpClient(t, turn)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if schema, ok := tool.InputSchema.(map[string]any); !ok || schema["type"] != "object" || tool.Description == "" {
			t.Errorf("%s takes %v", tool.Name, tool.InputSchema)
		}
	}
	slices.Sort(names)
	if want := []string{"ack", "ask", "escalate", "submit_verdict"}; !slices.Equal(names, want) {
		t.Errorf("tools = %q, want %q", names, want)
	}
	for name, tc := range map[string]struct{ tool, input, want string }{
		"decision":  {"submit_verdict", strings.Replace(goodVerdict, "approved", "fine", 1), "data.decision"},
		"types":     {"submit_verdict", strings.Replace(goodVerdict, "0.9", `"high"`, 1), "data.confidence"},
		"nothing":   {"ask", `{}`, "data.question"},
		"no reason": {"ack", `{"status":"refused"}`, "AMP-063"},
		"empty":     {"escalate", `{}`, "data.escalation_type"},
	} {
		if text, refused := callTool(t, c, tc.tool, tc.input); !refused || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %q, refused %v, want %q", name, text, refused, tc.want)
		}
	}
	var out providers.Outcome
	if failed := brief.ReadSubmitted(turn, tools, "prose", &out, func(providers.Event) {}); failed == nil {
		t.Errorf("what was refused counts: %+v", out)
	}
	if text, refused := callTool(t, c, "submit_verdict", goodVerdict); refused {
		t.Fatalf("a good verdict was refused: %s", text)
	}
	if failed := brief.ReadSubmitted(turn, tools, "prose", &out, func(providers.Event) {}); failed != nil || !json.Valid(out.Final) || !strings.Contains(string(out.Final), `"approved"`) {
		t.Errorf("ReadSubmitted = %s, %v", out.Final, failed)
	}
	if text, refused := callTool(t, c, "ask", `{"question":"Which port?"}`); refused {
		t.Fatalf("a question was refused: %s", text)
	}
	out = providers.Outcome{}
	if failed := brief.ReadSubmitted(turn, tools, "prose", &out, func(providers.Event) {}); failed != nil || out.Question != "Which port?" || out.Final != nil {
		t.Errorf("ReadSubmitted = %+v, %v", out, failed)
	}
	if err := brief.ForgetSubmitted(turn); err != nil {
		t.Fatal(err)
	}
	if failed := brief.ReadSubmitted(turn, tools, "prose", &out, func(providers.Event) {}); failed == nil {
		t.Error("what an earlier turn handed in counts")
	}
}
