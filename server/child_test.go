package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"arbiter/amp"
)

// childHome makes the test binary a child that tries to decide, see TestMain.
const childHome = "ARBITER_TEST_CHILD_HOME"

// childMark marks the processes of a turn.
const childMark = "ARBITER_TEST_MARK"

func TestMain(m *testing.M) {
	home := os.Getenv(childHome)
	if home == "" {
		os.Exit(m.Run())
	}
	c := NewClient(home, nil)
	ctx := context.Background()
	_, approve := c.Submit(ctx, amp.Command{ID: "c", Command: amp.Approve})
	_, ack := c.Receive(ctx, amp.Received{Raw: []byte("{}"), As: amp.Admin})
	end := c.Shutdown(ctx)
	_, resend := c.BusResend(ctx, nil) // one of the further routes
	_, tokens := c.Tokens(ctx)
	for _, err := range []error{approve, ack, end, resend, tokens} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != "forbidden" {
			fmt.Println("not forbidden:", err)
			os.Exit(1)
		}
	}
	_, err := c.Receive(ctx, amp.Received{Raw: []byte("{}"), As: amp.Executor})
	e, refused := errors.AsType[*Error](err)
	if marked := os.Getenv(childMark) != ""; marked && err != nil || !marked && (!refused || e.Code != "forbidden") {
		fmt.Println("a message of a child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// What the coordinator starts is an agent: it decides nothing, whatever it says it is, and speaks for nobody but its turn.
func TestChildrenDecideNothing_A09(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the kernel names the peer's process on Linux only")
	}
	c := serve(t, Config{Routes: BusRoutes(nil, ""), Coordinator: &fake{
		submit: func(amp.Command) (amp.Entry, error) { t.Error("a child decided"); return amp.Entry{}, nil },
		receive: func(amp.Received) (amp.Receipt, error) {
			t.Error("a child of no turn spoke")
			return amp.Receipt{}, nil
		},
	}})
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+c.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("child: %v\n%s", err, out)
	}
}

// An agent that left its parent behind still carries its mark.
func TestMarkedDecideNothing_A09(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the kernel names the peer's process on Linux only")
	}
	var from string
	c := serve(t, Config{Routes: BusRoutes(nil, ""), AllowChildren: true, Marker: childMark, TurnOf: func(_ context.Context, is func(int) bool) (string, error) {
		if !is(os.Getpid()) || is(os.Getpid()+1<<30) {
			t.Error("the process is not found where it stands")
		}
		return "turn-1", nil
	}, Coordinator: &fake{
		submit:  func(amp.Command) (amp.Entry, error) { t.Error("an agent decided"); return amp.Entry{}, nil },
		receive: func(r amp.Received) (amp.Receipt, error) { from = r.Turn; return amp.Receipt{}, nil },
	}})
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+c.home, childMark+"=what-it-says")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("child: %v\n%s", err, out)
	}
	if from != "turn-1" {
		t.Errorf("it spoke for turn %q", from)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux only")
	}
	me := os.Getpid()
	if !below(me, os.Getppid()) {
		t.Error("this process is not below its parent")
	}
	if below(me, me) || below(1, me) || below(1<<30, me) {
		t.Error("a process that does not descend from this one is below it")
	}
}
