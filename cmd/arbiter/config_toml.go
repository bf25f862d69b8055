package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"arbiter/tui/action"
)

// decodeTOML reads strictly: an unknown key is an error that names its line and the key that was probably meant.
func decodeTOML(file string, data []byte, v any) error {
	d := toml.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		return nil
	}
	e := &usageError{
		means: "Nothing was started or changed; a configuration that is not understood is never guessed.",
		next:  "Edit " + file + ".",
	}
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var lines []string
		for i := range strict.Errors {
			lines = append(lines, unknownKey(file, &strict.Errors[i], v))
		}
		e.what = strings.Join(lines, "\n")
		return e
	}
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, col := de.Position()
		e.what = fmt.Sprintf("%s:%d:%d: %s", file, row, col, strings.TrimPrefix(de.Error(), "toml: "))
		if k := de.Key(); len(k) > 0 {
			e.what += " (key " + strings.Join(k, ".") + ")"
		}
		return e
	}
	e.what = fmt.Sprintf("%s: %s", file, strings.TrimPrefix(err.Error(), "toml: "))
	return e
}

func unknownKey(file string, de *toml.DecodeError, v any) string {
	row, col := de.Position()
	key := []string(de.Key())
	text := fmt.Sprintf("%s:%d:%d: unknown key %s", file, row, col, strings.Join(key, "."))
	for i := range key {
		known, open := keysAt(reflect.TypeOf(v), key[:i])
		if open || slices.Contains(known, key[i]) {
			continue
		}
		if best := action.Nearest(key[i], known); best != "" {
			return text + fmt.Sprintf("; did you mean %s?", strings.Join(append(slices.Clone(key[:i]), best), "."))
		}
		return text + "; known here: " + strings.Join(known, ", ")
	}
	return text
}

// keysAt are the keys that a type knows below a path; open is set where any key may stand.
func keysAt(t reflect.Type, at []string) (keys []string, open bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		if len(at) == 0 {
			return nil, true
		}
		return keysAt(t.Elem(), at[1:])
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			if name == "" {
				continue
			}
			if len(at) == 0 {
				keys = append(keys, name)
			} else if name == at[0] {
				return keysAt(f.Type, at[1:])
			}
		}
		slices.Sort(keys)
	default: // a value has no keys
	}
	return keys, false
}
