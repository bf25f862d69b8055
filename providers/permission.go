package providers

import "arbiter/amp"

// Prompt is a text for a model.
type Prompt struct {
	// System is the standing instruction, Text what is asked. Both are sent as they are; an agent that cannot look into the turn's folder by
	// itself sends what is there along with them.
	System string
	Text   string
	// Schema, when it is not empty, is the JSON Schema that the answer is to follow; it is asked for where the way to the model can,
	// and whether it was followed is for the caller to find out.
	Schema []byte
}

// PermissionType is what an agent asks to do; the rest are its values.
type PermissionType = amp.PermissionType

// The types of permission, see [amp.PermissionType].
const (
	PermitRun   = amp.PermitRun
	PermitWrite = amp.PermitWrite
	PermitRead  = amp.PermitRead
	PermitFetch = amp.PermitFetch
	PermitTool  = amp.PermitTool
)

// Permission is one request of an agent, verbatim and untrusted.
type Permission = amp.Permission

// Decision is the answer to a request. It holds once: an agent that asks again is asked again.
type Decision struct {
	Allow bool
	// Reason is what the agent is told when it is denied.
	Reason string
}
