package demo_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/cmd/arbiter/demo"
	"arbiter/providers/command/scripted"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "demo-agent" {
		os.Exit(scripted.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Every scenario of the demo ends as it should, with real programs on a real repository.
func TestDemo(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d, err := demo.New(ctx, demo.Config{
		Agent: []string{self, "demo-agent"}, Dir: t.TempDir(), AckTimeout: 6 * time.Second,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.Run(run) }()
	if err := d.Play(ctx, func(s string) { t.Log(s) }); err != nil {
		t.Error(err)
	}
	if err := d.Settle(ctx); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if t.Failed() {
		history(t, d)
	}
	r, err := d.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	broken, err := d.Judge(context.Background(), r)
	if err != nil || len(broken) > 0 {
		t.Errorf("%v %q\n%s", err, broken, r)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// history logs the checks and refusals, which say why a scenario went another way.
func history(t *testing.T, d *demo.Demo) {
	t.Helper()
	page, err := d.Log().Read(context.Background(), amp.Filter{Kinds: []amp.Kind{amp.KindCheck, amp.KindRefusal}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page {
		t.Logf("%d %s %s %s %s", e.Seq, e.TaskID, e.Kind, e.Actor, e.Body)
	}
}
