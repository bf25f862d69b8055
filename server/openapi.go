package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// OpenAPI is the description of the API in OpenAPI 3.1: of the client API's own operations, and of further ones. It is made from
// the routes that are served, so that neither has what the other lacks.
func OpenAPI(version string, further []Route) ([]byte, error) {
	s := New(Config{Routes: further})
	s.version = version
	return s.document()
}

// openapi serves the document.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) {
	doc, err := s.document()
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.hurry(w)
	_, _ = w.Write(doc) // the client went away: there is nobody to tell
}

type object = map[string]any

func (s *Server) document() ([]byte, error) {
	forms := newForms()
	paths := map[string]object{}
	tags := map[string]bool{}
	for _, rt := range s.routes() {
		op, err := operation(&rt, forms)
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", rt.Method, rt.Path, err)
		}
		if paths[rt.Path] == nil {
			paths[rt.Path] = object{}
		}
		paths[rt.Path][strings.ToLower(rt.Method)] = op
		tags[rt.Tag] = true
	}
	forms.of(fault{})
	message, err := amp.Schema("message")
	if err != nil {
		return nil, err
	}
	forms.all["AMPMessage"] = jsontext.Value(message)
	var list []object
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, object{"name": tag})
	}
	doc := object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "Arbiter", "version": s.version,
			"description": "The client API of a coordinator, on its unix socket and, when it is configured, on TCP. Every error has the same " +
				"form: a stable code, what happened, what it means, and what to do next.",
		},
		"servers": []object{{"url": "http://127.0.0.1:7700", "description": "as configured under [listen]"}},
		"tags":    list, "paths": paths,
		"security": []object{{"token": []string{}}},
		"components": object{
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer", "description": "Made with arbiter token new. On the socket none is needed.",
			}},
			"schemas": forms.all,
		},
	}
	data, err := json.Marshal(doc, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(data, '\n'), err
}

// operation describes one route.
func operation(rt *Route, forms *forms) (object, error) {
	text := rt.Text
	switch {
	case rt.Access == Local:
		text += " On the coordinator's own socket only."
	case rt.Access == Signed:
		text += " It asks for a signature instead of a token."
	case rt.Access != Anyone:
		text += " For tokens with the role " + strings.Join(rt.Access.scopes(), ", ") + "."
	}
	op := object{"operationId": operationID(rt), "summary": rt.Summary, "tags": []string{rt.Tag}, "responses": responses(rt, forms)}
	if text = strings.TrimSpace(text); text != "" {
		op["description"] = text
	}
	if rt.Access == Signed {
		op["security"] = []object{}
	}
	var params []object
	for _, p := range rt.Params {
		form := object{"type": "string"}
		if len(p.Enum) > 0 {
			form["enum"] = p.Enum
		}
		params = append(params, object{"name": p.Name, "in": p.In, "description": p.Text, "required": p.Required, "schema": form})
	}
	if params != nil {
		op["parameters"] = params
	}
	if rt.In != nil {
		form := forms.of(rt.In)
		if rt.Path == "/v1/messages" {
			form = object{"oneOf": []object{{"$ref": "#/components/schemas/AMPMessage"}, forms.of(amp.Ack{})}}
		}
		op["requestBody"] = object{"required": true, "content": object{mediaType(rt.InType): object{"schema": form}}}
	}
	return op, nil
}

func responses(rt *Route, forms *forms) object {
	good := object{"description": "done", "headers": object{"X-Request-Id": object{
		"description": "the request in the coordinator's log", "schema": object{"type": "string"},
	}}}
	switch typ := mediaType(rt.OutType); {
	case typ == "text/event-stream":
		form := object{"type": "string"}
		if rt.Out != nil {
			form = object{"type": "string", "contentMediaType": "application/json", "contentSchema": forms.of(rt.Out)}
		}
		good["description"] = "events; the data of each is as the schema of the content says"
		good["content"] = object{typ: object{"schema": form}}
	case rt.Out != nil:
		good["content"] = object{typ: object{"schema": forms.of(rt.Out)}}
	case rt.OutType != "":
		good["content"] = object{typ: object{"schema": object{"type": "string"}}}
	}
	wrong := func(text string) object {
		return object{"description": text, "content": object{"application/json": object{"schema": forms.of(fault{})}}}
	}
	out := object{
		"200": good, "4XX": wrong("refused: the code says why, and nothing was done"),
		"5XX": wrong("failed, or not now: 503 can be tried again"),
		"401": wrong("no token, or one that is not valid any more"), "403": wrong("the token does not allow it"),
		"429": wrong("too many requests; Retry-After says how many seconds to wait"),
	}
	return out
}

func operationID(rt *Route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(rt.Method))
	for part := range strings.FieldsFuncSeq(strings.TrimPrefix(rt.Path, "/v1"), func(r rune) bool { return strings.ContainsRune("/{}.-@", r) }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func mediaType(t string) string {
	if t == "" {
		return "application/json"
	}
	return t
}
