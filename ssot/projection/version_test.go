package projection

import (
	"reflect"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	type leaf struct {
		A int `json:"a"`
	}
	type leaf2 struct {
		A int `json:"a,omitzero"`
	}
	type tree struct {
		Leaf leaf             `json:"leaf"`
		More []*tree          `json:"more"`
		Keys map[string]*leaf `json:"keys"`
		none int
	}
	type tree2 struct {
		Leaf leaf2             `json:"leaf"`
		More []*tree2          `json:"more"`
		Keys map[string]*leaf2 `json:"keys"`
		none int
	}
	text := func(x any) string {
		var b strings.Builder
		describe(&b, reflect.TypeOf(x), map[reflect.Type]bool{})
		return strings.NewReplacer("tree2", "tree", "leaf2", "leaf").Replace(b.String())
	}
	one, two := text(tree{none: 1}), text(tree2{none: 2})
	if one == two || !strings.Contains(one, "`json:\"a\"`") || strings.Contains(one, "none") {
		t.Errorf("descriptions:\n%s\n%s", one, two)
	}
	if again := text(tree{}); again != one {
		t.Errorf("described twice:\n%s\n%s", one, again)
	}
}
