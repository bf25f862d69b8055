package main

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// A terminal that is closed ends the demo as control c does: nothing of it stays in the folder for temporary files.
func TestDemo_hangup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the real program")
	}
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hang-ups are ignored here, as under nohup, and by what is started from here")
	}
	dir := t.TempDir()
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	c := self(t, "demo", "--headless")
	c.Env = append(c.Env, "HOME="+dir, "TMPDIR="+temp, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if _, err := said.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadDir(temp); len(made) == 0 || err != nil {
		t.Errorf("the demo made nothing: %v", err)
	}
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	if err := c.Wait(); err == nil {
		t.Error("it ended well")
	}
	if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
		t.Errorf("it left %v, %v; it said\n%s", left, err, rest)
	}
}
