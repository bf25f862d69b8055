package sandbox

import (
	"bufio"
	"crypto/rand"
	"io"
	"strings"
	"testing"
)

// From the start of a program to its first line, in each mode; what matters is the ratio to off.
func BenchmarkCage_firstLine(b *testing.B) {
	for _, m := range []Mode{Off, Landlock, Bubblewrap} {
		b.Run(string(m), func(b *testing.B) {
			if _, err := m.Works(); err != nil {
				b.Skipf("NOT MEASURED, since %v", err)
			}
			c, err := Leash{Mode: m}.Open(b.Context(), "bench")
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			s := Spec{Argv: []string{"/bin/sh", "-c", "echo ready; read x"}, Dir: b.TempDir(), Home: b.TempDir(), Turn: "bench-" + rand.Text(), Talk: true}
			for b.Loop() {
				p, err := c.Start(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				out := bufio.NewReader(p.Stdout())
				line, err := out.ReadString('\n')
				if strings.TrimSpace(line) != "ready" {
					b.Fatal(line, err)
				}
				b.StopTimer()
				p.CloseInput()
				go io.Copy(io.Discard, p.Stderr())
				<-p.Exited()
				if _, err := p.Stop(0); err != nil {
					b.Error(err)
				}
				io.Copy(io.Discard, out)
				b.StartTimer()
			}
		})
	}
}
