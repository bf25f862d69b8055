package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// playAppend appends with several producers until it is killed, and prints each acknowledgement.
func playAppend(args []string) error {
	log, err := Open(context.Background(), args[0], Options{tail: 50})
	if err != nil {
		return err
	}
	head, err := log.Head(context.Background())
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for p := range 6 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d-%d", args[1], head.Seq, p, i)
				batch := []amp.Record{ssottest.Note(id, ssottest.Task(1+p), strings.Repeat("x", i%3000))}
				if i%4 == 0 {
					batch = append(batch, ssottest.Refusal(id+"-r", ssottest.Task(1+i%9), []byte(id)))
				}
				out, err := log.Append(context.Background(), batch)
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				mu.Lock()
				for _, a := range out {
					if a.Err != nil || !a.Fresh {
						fmt.Fprintf(os.Stderr, "%+v\n", a)
						os.Exit(1)
					}
					fmt.Println(a.Entry.Seq, a.Entry.Hash, a.Entry.ID)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKill kills a process with SIGKILL while it appends, again and again, also while it creates the journal. What was
// acknowledged is there, the chain and the projections are whole.
func TestKill(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	rounds := times(t, "ARBITER_STORE_KILLS", 30)
	total, dir := 0, ""
	acked := map[uint64]string{}
	for round := range rounds {
		if round%6 == 0 {
			dir = t.TempDir()
			clear(acked)
		}
		life, opening := time.Duration(5+r.IntN(300))*time.Millisecond, round%3 == 0
		if opening {
			life /= 10 // dies while it makes the journal, or opens it
		}
		lines := killed(t, life, opening, dir, fmt.Sprint("round", round))
		for _, l := range lines {
			var seq uint64
			var rest [2]string
			if _, err := fmt.Sscan(l, &seq, &rest[0], &rest[1]); err != nil {
				t.Fatalf("acknowledgement %q: %v", l, err)
			}
			if before := acked[seq]; before != "" {
				t.Fatalf("round %d: seq %d was given to %s and to %s", round, seq, before, l)
			}
			acked[seq] = l
		}
		total += len(lines)
		survives(t, dir, acked)
	}
	if total < rounds/2 {
		t.Errorf("only %d appends were acknowledged: the loop proves nothing", total)
	}
	t.Logf("%d acknowledged appends", total)
}

// killed runs a producer, kills it a while after its start, or after its first acknowledgement, and returns the whole lines that it printed.
func killed(t *testing.T, life time.Duration, fromStart bool, dir, name string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := child(ctx, "append", dir, name)
	var complaint boundedBuffer
	c.Stderr = &complaint
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if fromStart {
		defer time.AfterFunc(life, cancel).Stop()
	}
	var lines []string
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break // a line without its end is no acknowledgement
		}
		if lines = append(lines, strings.TrimSpace(line)); len(lines) == 1 && !fromStart {
			defer time.AfterFunc(life, cancel).Stop()
		}
	}
	err = c.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("the child ended by itself: %v, %s", err, &complaint)
	}
	if st, ok := exit.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
		t.Fatalf("the child did not die of SIGKILL: %v, %s", err, &complaint)
	}
	return lines
}

// survives checks a journal after a crash against what was acknowledged.
func survives(t *testing.T, dir string, acked map[uint64]string) {
	t.Helper()
	log, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("open after a kill: %v", err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := log.Verify(t.Context(), nil)
	if err != nil || r.Err(dir) != nil {
		t.Fatalf("after a kill: %+v, %v", r, err)
	}
	all, err := ssottest.All(t.Context(), ssot.Log(log))
	if err != nil {
		t.Fatal(err)
	}
	for seq, want := range acked {
		if seq > uint64(len(all)) {
			t.Fatalf("entry %d was acknowledged, the journal ends at %d", seq, len(all))
		}
		e := all[seq-1]
		if got := fmt.Sprint(e.Seq, " ", e.Hash, " ", e.ID); got != want {
			t.Fatalf("acknowledged %s, stored %s", want, got)
		}
	}
	scanned(t, log, all, "refused -note", "kind:command x", "is:refused round")
}
