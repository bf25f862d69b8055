package modeltest

import (
	"encoding/json"
	"strings"
)

// UseTool is a step that calls one tool; input is encoded as JSON.
func UseTool(name string, input any) Step { return Step{Calls: []Call{call(name, input)}} }

// WriteFile is a step that writes a file with the editing tool of whichever known program asks: codex, claude, gemini, qwen, opencode. The
// path is absolute.
func WriteFile(path, content string) Step {
	return Step{Calls: []Call{
		{Tool: "apply_patch", Text: patch(path, content), Input: raw(map[string]string{"input": patch(path, content)})},
		call("exec_command", map[string]string{"cmd": heredoc(path, content)}),
		call("Write", map[string]string{"file_path": path, "content": content}),
		call("write_file", map[string]string{"file_path": path, "content": content}),
		call("write", map[string]string{"filePath": path, "content": content}),
	}}
}

// RunCommand is a step that runs a command with the shell tool of whichever known program asks.
func RunCommand(command string) Step {
	return Step{Calls: []Call{
		call("exec_command", map[string]string{"cmd": command}),
		call("shell_command", map[string]string{"command": command}),
		call("Bash", map[string]string{"command": command, "description": "Run it"}),
		call("run_shell_command", map[string]any{"command": command, "description": "Run it", "is_background": false}),
		call("bash", map[string]string{"command": command, "description": "Run it"}),
	}}
}

// UseMCP is a step that calls a tool of an MCP server by the name that whichever known program gives it.
func UseMCP(server, tool string, input any) Step {
	return Step{Calls: []Call{
		call("mcp__"+server+"__"+tool, input), call("mcp_"+server+"_"+tool, input), call(server+"_"+tool, input),
	}}
}

func call(name string, input any) Call { return Call{Tool: name, Input: raw(input)} }

func raw(input any) json.RawMessage {
	b, err := json.Marshal(input)
	if err != nil {
		panic("modeltest: the input of a tool: " + err.Error())
	}
	return b
}

func patch(path, content string) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Add File: " + path + "\n")
	for line := range strings.Lines(content) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}

func heredoc(path, content string) string {
	end := "EOF"
	for strings.Contains(content, end) {
		end += "F"
	}
	if !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return "cat > '" + path + "' <<'" + end + "'\n" + content + end
}
