package bus

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Link is what links a reply to its request: metadata.task_id, else payload.task_id, else metadata.original_message_id (B06).
func (m *Message) Link() string {
	for _, v := range []jsontext.Value{m.Metadata["task_id"], member(m.Payload, "task_id"), m.Metadata["original_message_id"]} {
		if s := textOf(v); s != "" {
			return s
		}
	}
	return ""
}

// member is one member of an object, nil when there is none.
func member(v jsontext.Value, name string) jsontext.Value {
	if v.Kind() != '{' {
		return nil
	}
	return members(v)[name]
}

// textOf is a JSON string's value, "" of anything else.
func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
