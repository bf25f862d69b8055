package program

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"arbiter/providers/brief"
	"arbiter/providers/sandbox"
)

// CodexServer is what stands in codex's configuration of the server of our tools, empty for nil. The server runs outside of codex's own sandbox and
// asks nobody: what its tools take is a claim. That it can be started is not required, since the final text counts without it.
func CodexServer(s *brief.Server) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	args := make([]string, 0, len(s.Args))
	for _, a := range s.Args {
		args = append(args, Quote(a))
	}
	fmt.Fprintf(&b, "\n[mcp_servers.%s]\ncommand = %s\nargs = [%s]\n", brief.ServerName, Quote(s.Command), strings.Join(args, ", "))
	fmt.Fprintf(&b, "env_vars = [%s]\ndefault_tools_approval_mode = \"approve\"\ntool_timeout_sec = 60\n", Quote(sandbox.Marker))
	fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", brief.ServerName)
	for _, v := range s.Env {
		fmt.Fprintf(&b, "%s = %s\n", v.Name, Quote(v.Value))
	}
	return b.String()
}

// Quote writes a TOML string. A JSON string is one, but for the sign of deletion.
func Quote(s string) string {
	q, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic("program: unreachable: valid text has a JSON form: " + err.Error())
	}
	return strings.ReplaceAll(string(q), "\x7f", `\u007f`)
}
