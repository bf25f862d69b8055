package providers

// Prompt is a text for a model.
type Prompt struct {
	// System is the standing instruction, Text what is asked. Both are sent as they are.
	System string
	Text   string
	// Schema, when it is not empty, is the JSON Schema that the answer is to follow; it is asked for where the way to the model can,
	// and whether it was followed is for the caller to find out.
	Schema []byte
}

// PermissionType is what an agent asks to do.
type PermissionType string

// The types of permission.
const (
	PermitRun   PermissionType = "run"   // run a command
	PermitWrite PermissionType = "write" // change files
	PermitRead  PermissionType = "read"  // read files
	PermitFetch PermissionType = "fetch" // reach something over the network
	PermitTool  PermissionType = "tool"  // call another tool
)

// Permission is one request of an agent, verbatim and untrusted.
type Permission struct {
	Type PermissionType
	// Tool is the agent's own name of the tool.
	Tool string
	// Command is the exact command line of PermitRun.
	Command string
	// Paths are the files that it names, as it names them: relative ones are relative to Dir.
	Paths []string
	Dir   string
	// Request is all that the agent said, as JSON or text; Reason is the agent's own.
	Request string
	Reason  string
}

// Decision is the answer to a request. It holds once: an agent that asks again is asked again.
type Decision struct {
	Allow bool
	// Reason is what the agent is told when it is denied.
	Reason string
}
