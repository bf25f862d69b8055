package github_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/github"
	"arbiter/ssot/ssottest"
)

// The scanner looks at every entry before it leaves: at what agents say all day, at plans, and at the output of their programs.
func BenchmarkScanner(b *testing.B) {
	scan := github.NewScanner([]github.Known{{Name: "one", Value: "a configured secret"}, {Name: "two", Value: "another of them, longer"}}, nil)
	var talk []byte
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		talk = append(talk, data...)
	}
	talk = talk[:64<<10]
	for name, text := range map[string][]byte{
		"short":  ssottest.Propose("p", ssottest.Task(1), "a plan").Body,
		"note":   ssottest.Note("n", ssottest.Task(1), strings.Repeat("the tests pass and what is left is said below. ", 15)).Body,
		"talk":   talk,
		"json":   amp.EncodeBody(map[string]string{"text": string(talk)}),
		"output": []byte(strings.Repeat("=== RUN   TestTask_key/of_the_session\n--- PASS: TestTask_key (0.01s) at /src/arbiter/coordinator/task.go:127 8013a7b35f189bf4f1a1815062e49482fa823a7f\n", 400)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if found := scan.Find(text); len(found) > 0 {
					b.Fatal(found)
				}
			}
		})
	}
}
