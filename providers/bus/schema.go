package bus

import _ "embed"

// SchemaName is the name of the published schema with its version.
const SchemaName = "agentmessage@1.0"

//go:embed agentmessage.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of a message. It takes and refuses what [Decode] does, but for what a schema cannot say: the bytes of
// a message and of its names, how deep it is nested, and whether a time is one of the calendar.
func Schema() []byte { return schema }
