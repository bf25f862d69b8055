package amp

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
)

// SchemaVersion is the version of the published schemas, that of the protocol.
const SchemaVersion = "1.0"

//go:embed schemas/*.json
var schemas embed.FS

var schemaNames = []string{"message", "envelope", "task_dispatch", "task_result", "review_request", "review_verdict", "escalation"}

// SchemaNames are the names of the published JSON Schemas (draft 2020-12) with their version, such as task_result@1.0. The first
// one describes a whole message.
func SchemaNames() []string {
	out := make([]string, len(schemaNames))
	for i, n := range schemaNames {
		out[i] = n + "@" + SchemaVersion
	}
	return out
}

// Schema returns a JSON Schema by its name, with or without the version. The schema of a message holds those of the envelope and
// of the payloads; each other one stands alone.
func Schema(name string) ([]byte, error) {
	base, version, dated := strings.Cut(name, "@")
	data, err := schemas.ReadFile("schemas/" + base + ".json")
	if err != nil || dated && version != SchemaVersion {
		return nil, fmt.Errorf("there is no schema %q; there are %s", name, strings.Join(SchemaNames(), ", "))
	}
	if base != schemaNames[0] {
		return data, nil
	}
	return bundle(data)
}

// bundle puts every other schema into the $defs of the message's, where their $id finds them.
func bundle(message []byte) ([]byte, error) {
	var defs bytes.Buffer
	for i, n := range schemaNames[1:] {
		data, err := schemas.ReadFile("schemas/" + n + ".json")
		if err != nil {
			return nil, err
		}
		if i > 0 {
			defs.WriteByte(',')
		}
		body := bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), []byte("\n    "))
		fmt.Fprintf(&defs, "\n    %q: %s", n, body)
	}
	return bytes.Replace(message, []byte(`"$defs": {}`), []byte(`"$defs": {`+defs.String()+"\n  }"), 1), nil
}
