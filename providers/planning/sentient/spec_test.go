package sentient

import (
	"os"
	"strings"
	"testing"
)

func sample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSpecExamples_SEN_075: the examples of the specification are taken as printed.
func TestSpecExamples_SEN_075(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"objective", "goal", "out_of_scope"} {
		m, report := DecodeStrict(sample(t, name))
		if m == nil || len(report.Errors) > 0 || len(report.Warnings) > 0 {
			t.Errorf("%s: %+v", name, report)
		}
	}
	var s Session
	for _, name := range []string{"objective", "goal"} {
		if j := s.Judge(sample(t, name)); j.Held() || len(j.Warnings) > 0 || len(j.Repairs) > 0 || string(j.Copy) != strings.TrimSpace(string(sample(t, name))) {
			t.Errorf("%s in its session: %+v", name, j.Report)
		}
	}
}

func sampleOf(f *testing.F, name string) []byte {
	f.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		f.Fatal(err)
	}
	return data
}
