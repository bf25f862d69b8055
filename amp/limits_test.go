package amp

import (
	"os"
	"path/filepath"
	"testing"
)

// seeds are whole messages of every type.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/messages/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d messages in testdata: %v", len(files), err)
	}
	var out [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

func TestDepthOf(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]int{
		``:                              0,
		`{}`:                            1,
		`{"a":[[],{"b":null}],"n":[1]}`: 3,
		`{"[[[":"null\"[[[","b":null}`:  1,
		`{"a":"\\","b":[null]}`:         2,
		`{"a":"\\\"[[[null"}`:           1,
		`["unterminated [[[`:            1,
		`"\`:                            0,
		`"\\"`:                          0,
		`]]]][[`:                        0,
	} {
		if got := DepthOf([]byte(data)); got != want {
			t.Errorf("DepthOf(%s) = %d, want %d", data, got, want)
		}
	}
}
