package brief

import (
	"path/filepath"

	"arbiter/providers"
)

// ServerName is how programs are to call the server of our tools.
const ServerName = "arbiter"

// The variables by which the server of the tools knows for which turn it speaks, and where to write.
const (
	TaskVar   = "ARBITER_TASK"
	RoleVar   = "ARBITER_ROLE"
	SubmitVar = "ARBITER_SUBMIT"
)

// Server is the MCP server of the tools of one turn, as a program is to start it.
type Server struct {
	Command string
	Args    []string
	Env     []Var
	// Tools are the names of its tools.
	Tools []string
}

// Var is one variable of an environment.
type Var struct{ Name, Value string }

// Environ is the environment as a table.
func (s *Server) Environ() map[string]string {
	env := map[string]string{}
	for _, v := range s.Env {
		env[v.Name] = v.Value
	}
	return env
}

// Names are the tools as claude calls them.
func (s *Server) Names() []string {
	names := make([]string, 0, len(s.Tools))
	for _, t := range s.Tools {
		names = append(names, "mcp__"+ServerName+"__"+t)
	}
	return names
}

// ServerOf is the server of a turn's tools that this command starts; nil when there is none, and when the turn has a prompt of its own.
func ServerOf(turn *providers.Turn, command []string) *Server {
	if len(command) == 0 || turn.Prompt != nil {
		return nil
	}
	return &Server{Command: command[0], Args: command[1:], Tools: Tools(turn.Role), Env: []Var{
		{TaskVar, string(turn.Task)}, {RoleVar, string(turn.Role)}, {SubmitVar, filepath.Join(turn.Home, submissions)},
	}}
}
