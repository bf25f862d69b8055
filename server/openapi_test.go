package server

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the compiled schemas of the document by name.
func schemas(t *testing.T) func(name string) *jsonschema.Schema {
	t.Helper()
	data, err := OpenAPI("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("http://api/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return func(name string) *jsonschema.Schema {
		t.Helper()
		s, err := c.Compile("http://api/openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return s
	}
}

// fill sets everything below v that can be set.
func fill(v reflect.Value, depth int) {
	if depth < 0 {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(someDay))
		return
	case jsontext.Value:
		v.SetBytes([]byte(`{"a":1}`))
		return
	case amp.Entry:
		v.Set(reflect.ValueOf(chain(1)[0]))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, depth-1)
		fill(e, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.String:
		v.SetString("ü")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(-3)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(3)
	default:
	}
}

// Whatever is written agrees with the document, full and empty, and what lacks a field does not.
func TestOpenAPI_agreesWithWhatIsWritten(t *testing.T) {
	t.Parallel()
	schema := schemas(t)
	for _, v := range []any{
		&amp.Command{}, &amp.Entry{}, &amp.Receipt{}, &amp.Query{}, &amp.Page{}, &amp.Board{}, &amp.CoordinatorState{}, &amp.Ack{}, &Me{}, &NewToken{}, &MadeToken{},
		&Token{}, &Ended{}, &fault{},
	} {
		typ := reflect.TypeOf(v).Elem()
		name := strings.ToUpper(typ.Name()[:1]) + typ.Name()[1:]
		if name == "Fault" {
			name = "Error"
		}
		s := schema(name)
		for _, full := range []bool{false, true} {
			if full {
				fill(reflect.ValueOf(v).Elem(), 8)
			} else if name == "Entry" || name == "Receipt" {
				continue // there is no empty entry
			}
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(got); err != nil {
				t.Errorf("%s, full %v: %v\n%s", name, full, err, data)
			}
			if !full {
				continue
			}
			members := got.(map[string]any)
			known := map[string]bool{}
			for p := range s.Properties {
				known[p] = true
			}
			for m := range members {
				if !known[m] {
					t.Errorf("%s: the document does not know %s", name, m)
				}
			}
			for _, m := range s.Required {
				without := map[string]any{}
				for k, v := range members {
					if k != m {
						without[k] = v
					}
				}
				if s.Validate(without) == nil {
					t.Errorf("%s without %s agrees with the document", name, m)
				}
				without[m] = []any{struct{}{}}
				if _, list := members[m].([]any); !list && members[m] != nil && s.Validate(without) == nil && len(s.Properties[m].AnyOf) == 0 && s.Properties[m].Types != nil {
					t.Errorf("%s with another %s agrees with the document", name, m)
				}
			}
		}
	}
}

// Every operation of the document is one of the server, and the other way round by construction; each has what a reader needs.
func TestOpenAPI_operations(t *testing.T) {
	t.Parallel()
	data, err := OpenAPI("1.2.3", nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI string `json:"openapi"`
		Info    struct {
			Version string `json:"version"`
		} `json:"info"`
		Paths map[string]map[string]struct {
			OperationID string                    `json:"operationId"`
			Summary     string                    `json:"summary"`
			Responses   map[string]jsontext.Value `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" {
		t.Errorf("openapi %q, version %q", doc.OpenAPI, doc.Info.Version)
	}
	f := &fake{query: status}
	_, _, as := remote(t, f, TCP{}, nil)
	c := as(ScopeReader)
	ids := map[string]bool{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if op.Summary == "" || ids[op.OperationID] || op.Responses["200"] == nil || op.Responses["4XX"] == nil {
				t.Errorf("%s %s is described badly: %+v", method, path, op)
			}
			ids[op.OperationID] = true
			if path == "/v1/journal" {
				continue
			}
			res, err := c.open(t.Context(), strings.ToUpper(method), strings.ReplaceAll(path, "{token}", "x"), nil)
			if codeOf(err) == "not_found" {
				t.Errorf("%s %s is not served", method, path)
			}
			if err == nil {
				res.Body.Close()
			}
		}
	}
	served, err := c.open(t.Context(), http.MethodGet, "/v1/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Body.Close()
	var got struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.UnmarshalRead(served.Body, &got); err != nil || len(got.Paths) != len(doc.Paths) {
		t.Errorf("the served document has %d paths, want %d; %v", len(got.Paths), len(doc.Paths), err)
	}
}
