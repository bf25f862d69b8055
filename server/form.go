package server

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json/jsontext"
)

// forms are JSON Schemas of Go types as the JSON library writes them, by the type's name.
type forms struct {
	all map[string]any
	// names are the types that have a name already: two of the same name would overwrite each other.
	names map[string]reflect.Type
}

func newForms() *forms { return &forms{all: map[string]any{}, names: map[string]reflect.Type{}} }

// words are the values of types that are words of the protocol.
var words = map[reflect.Type][]string{
	reflect.TypeFor[amp.Role]():      texts(amp.Admin, amp.Coordinator, amp.Executor, amp.Reviewer, amp.System),
	reflect.TypeFor[amp.Status]():    texts(amp.Statuses...),
	reflect.TypeFor[amp.RiskLevel](): texts(amp.Low, amp.Medium, amp.High),
	reflect.TypeFor[Scope]():         texts(Scopes()...),
	reflect.TypeFor[amp.Kind](): texts(amp.KindMessage, amp.KindAck, amp.KindCommand, amp.KindPlan, amp.KindTurn, amp.KindQuestion, amp.KindCheck,
		amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside),
	reflect.TypeFor[amp.QueryKind](): texts(amp.QueryBoard, amp.QueryEntries, amp.QueryDiff, amp.QueryLog, amp.QueryChecklist, amp.QueryStatus,
		amp.QueryPull),
	reflect.TypeFor[amp.CommandName](): texts(amp.Submit, amp.Revise, amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign,
		amp.Split, amp.Accept, amp.Override, amp.Rollback, amp.Terminate, amp.Deliver, amp.Answer, amp.RaiseLimit, amp.StopAll, amp.Thaw,
		amp.Withdraw, amp.NoteCommand),
}

func texts[T ~string](all ...T) (out []string) {
	for _, v := range all {
		out = append(out, string(v))
	}
	return out
}

// entryForm is the JSON form of an entry, which writes itself.
type entryForm struct {
	Seq        uint64     `json:"seq"`
	Kind       amp.Kind   `json:"kind"`
	TaskID     amp.TaskID `json:"task_id,omitzero"`
	Role       string     `json:"role"`
	Actor      string     `json:"actor"`
	At         time.Time  `json:"at"`
	ID         string     `json:"id"`
	Body       string     `json:"body,omitzero"`
	BodyBase64 []byte     `json:"body_base64,omitzero"`
	PrevHash   amp.Hash   `json:"prev_hash"`
	Hash       amp.Hash   `json:"hash"`
}

// of is the schema of a value's type.
func (f *forms) of(v any) object { return f.form(reflect.TypeOf(v)) }

func (f *forms) form(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[jsontext.Value](), reflect.TypeFor[any]():
		return object{}
	case reflect.TypeFor[amp.Hash]():
		return object{"type": "string", "pattern": "^[0-9a-f]{64}$"}
	}
	if t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []object{f.form(t.Elem()), {"type": "null"}}}
	case reflect.Struct:
		return f.named(t)
	case reflect.String:
		if known := words[t]; known != nil {
			return object{"type": "string", "examples": known}
		}
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": f.form(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": f.form(t.Elem())}
	default:
		panic("a type of the API has no JSON form: " + t.String())
	}
}

// named puts the schema of a struct under its name and refers to it.
func (f *forms) named(t reflect.Type) object {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if t == reflect.TypeFor[fault]() {
		name = "Error"
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if known, ok := f.names[name]; ok {
		if known != t {
			panic("two types of the API have the name " + name)
		}
		return ref
	}
	f.names[name] = t
	of := t
	if t == reflect.TypeFor[amp.Entry]() {
		of = reflect.TypeFor[entryForm]()
	}
	properties, required := object{}, []string{}
	f.fields(of, properties, &required)
	slices.Sort(required)
	form := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		form["required"] = required
	}
	f.all[name] = form
	return ref
}

func (f *forms) fields(t reflect.Type, properties object, required *[]string) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case field.Anonymous && name == "":
			f.fields(field.Type, properties, required)
			continue
		case name == "":
			name = field.Name
		}
		optional := strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty")
		of := field.Type
		if optional && of.Kind() == reflect.Pointer {
			of = of.Elem() // left out instead of null
		}
		properties[name] = f.form(of)
		if !optional {
			*required = append(*required, name)
		}
	}
}
