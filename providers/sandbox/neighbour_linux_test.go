package sandbox

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// A process that has nothing to do with the turn keeps its environment and its memory to itself, also before a root with every
// capability: the kernel asks Landlock first and, where that says no, whether the reader may watch the machine's performance.
func TestCage_neighbours(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, m Mode) {
		neighbour := exec.CommandContext(t.Context(), "sleep", "600")
		neighbour.Env = []string{"NEIGHBOUR_TOKEN=of-a-stranger"}
		if err := neighbour.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = neighbour.Process.Kill(); _ = neighbour.Wait() }()
		s := spec(t, "environ")
		pid := strconv.Itoa(neighbour.Process.Pid)
		s.Argv = []string{"/bin/sh", "-c", "cat /proc/" + pid + "/environ /proc/" + pid + "/maps; grep -i cap /proc/self/status; echo over"}
		p, err := opened(t, Leash{Mode: m}).Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }()
		out, _ := io.ReadAll(p.Stdout())
		if exit, err := p.Stop(0); exit != 0 || err != nil {
			t.Errorf("exit %d, %v", exit, err)
		}
		said := string(out)
		if !strings.Contains(said, "over") || strings.Contains(said, "of-a-stranger") || strings.Contains(said, "/sleep") {
			t.Errorf("the program said %q", said)
		}
		sets := []string{"CapPrm:", "CapEff:", "CapAmb:"}
		if os.Geteuid() == 0 { // only root could come by those of the bound again
			sets = append(sets, "CapBnd:")
		}
		for _, set := range sets {
			if !strings.Contains(said, set+"\t0000000000000000") {
				t.Errorf("the program has capabilities in %s\n%s", set, said)
			}
		}
	})
}
