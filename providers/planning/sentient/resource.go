package sentient

import (
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/providers/sacp"
)

var (
	sourceID  = regexp.MustCompile(`^src_[1-9][0-9]{0,8}$`)
	storageID = regexp.MustCompile(`^store_[1-9][0-9]{0,8}$`)
	derivedID = regexp.MustCompile(`^derived_[1-9][0-9]{0,8}$`)
)

// resources reads the three lists, which are there in every message (SEN-030, SEN-039).
func (r *reader) resources(n *node, m *Message) {
	missing := "SEN-030"
	if m.OutOfScope() {
		missing = "SEN-039"
	}
	res := r.object(n, "resources", missing)
	seen := map[string]bool{}
	entry := func(field string, v jsontext.Value, rule string, form *regexp.Regexp, read func(*node)) bool {
		if v.Kind() != '{' {
			r.errorf(rule, field, "is %s, expected an object", sacp.KindName(v.Kind()))
			return false
		}
		e := &node{path: field, members: members(v), known: map[string]bool{}}
		before := len(r.Errors)
		id := r.ref(e, "ref_id", rule, form)
		if seen[id] && id != "" {
			r.errorf("SEN-034", field+".ref_id", "is %s, which stands for another entry already", id)
		}
		seen[id] = true
		read(e)
		r.rest(e)
		return len(r.Errors) == before
	}
	r.list(res, "source_refs", missing, missing, func(field string, v jsontext.Value) {
		ok := entry(field, v, "SEN-031", sourceID, func(e *node) {
			url := r.need(e, "url", "SEN-031")
			r.need(e, "platform", "SEN-031")
			r.need(e, "media_type", "SEN-031")
			r.need(e, "provided_by", "SEN-031")
			r.number(e, "extracted_at_sequence", "SEN-031", false)
			if url == "" && !r.hasError(e.field("url")) {
				r.warn("SEN-038", e.field("url"), "is empty, expected the original URL or file path")
			}
		})
		m.Sources = appendRef(m.Sources, v, ok)
	})
	r.list(res, "storage_refs", missing, missing, func(field string, v jsontext.Value) {
		ok := entry(field, v, "SEN-032", storageID, func(e *node) {
			r.ref(e, "source_ref_id", "SEN-032", sourceID)
			r.need(e, "storage_backend", "SEN-032")
			r.need(e, "media_type", "SEN-032")
			r.place(e, "SEN-032", "stored")
		})
		m.Stores = appendRef(m.Stores, v, ok)
	})
	r.list(res, "derived_refs", missing, missing, func(field string, v jsontext.Value) {
		ok := entry(field, v, "SEN-033", derivedID, func(e *node) {
			r.ref(e, "parent_ref_id", "SEN-033", anyID)
			r.need(e, "asset_type", "SEN-033")
			r.need(e, "capability_id", "SEN-033")
			r.place(e, "SEN-033", "created")
		})
		m.Derived = appendRef(m.Derived, v, ok)
	})
	r.rest(res)
	if len(m.Derived) > 0 && (m.Sequence == 1 || m.Sequence == 2) {
		r.warn("SEN-037", "resources.derived_refs", "holds %s, but derived refs are registered by the planning agent", m.Derived[0].ID)
	}
}

var anyID = regexp.MustCompile(`^(src|store|derived)_[1-9][0-9]{0,8}$`)

// need is a string of an entry; all its fields are the entry's rule.
func (r *reader) need(n *node, name, rule string) string {
	v, ok := r.take(n, name, rule)
	if ok && v.Kind() != '"' {
		r.errorf(rule, n.field(name), "is %s, expected a string", sacp.KindName(v.Kind()))
	}
	return str(v)
}

// ref is the id of a ref.
func (r *reader) ref(n *node, name, rule string, form *regexp.Regexp) string {
	id := r.need(n, name, rule)
	if v := n.members[name]; v.Kind() == '"' && !form.MatchString(id) {
		r.errorf(rule, n.field(name), "is %q, expected the form %s", clip(id), form)
	}
	return id
}

func (r *reader) number(n *node, name, rule string, nullable bool) {
	v, ok := r.take(n, name, rule)
	if !ok || v.Kind() == 'n' && nullable {
		return
	}
	if _, whole := wholeNumber(v); !whole {
		r.errorf(rule, n.field(name), "is %s, expected a whole number", describe(v))
	}
}

// place reads where something is kept, since when, and whether it is there: done is the word for that.
func (r *reader) place(n *node, rule, done string) {
	uri, ok := r.take(n, "storage_uri", rule)
	if ok && uri.Kind() != '"' && uri.Kind() != 'n' {
		r.errorf(rule, n.field("storage_uri"), "is %s, expected a string or null", sacp.KindName(uri.Kind()))
	}
	r.number(n, "created_at_sequence", rule, true)
	status := r.need(n, "status", rule)
	switch {
	case n.members["status"].Kind() != '"':
	case status != "pending" && status != done && status != "failed":
		r.errorf(rule, n.field("status"), "is %q, expected pending, %s or failed", clip(status), done)
	case status == "pending" && uri.Kind() == '"':
		r.warn("SEN-038", n.field("storage_uri"), "is set although the status is pending: null until it is there")
	}
}

// appendRef appends an entry that has no error.
func appendRef[T any](list []T, v jsontext.Value, ok bool) []T {
	var ref T
	if !ok || json.Unmarshal(v, &ref) != nil {
		return list
	}
	return append(list, ref)
}
