package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"arbiter/amp"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// The life of a task is a trace; sent again it has the same ids.
func TestTracer(t *testing.T) {
	t.Parallel()
	task, at := ssottest.Task(1), ssottest.Start.Add(time.Minute)
	dispatch := ssottest.Dispatch(task, at)
	log := memory.New()
	release := amp.Record{
		Kind: amp.KindCheck, TaskID: task, Role: amp.Coordinator, Actor: "arbiter", At: at.Add(time.Hour), ID: "k1",
		Body: amp.EncodeBody(amp.Check{Subject: amp.CheckRelease, TaskID: task}),
	}
	for _, r := range []amp.Record{
		ssottest.Submit("c1", task), ssottest.Propose("p1", task, "Hello"), ssottest.Approve("c2", task), dispatch,
		ssottest.Turn("t1", task, "run", amp.TurnStarted), ssottest.Turn("t2", task, "run", amp.TurnEnded), release,
	} {
		if _, err := log.Append(t.Context(), []amp.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Name, Parent string
		Took         time.Duration
		Failed       bool
	}
	var runs [2]tracetest.SpanStubs
	for i := range runs {
		exporter := tracetest.NewInMemoryExporter()
		tr := traceTo(sdktrace.WithSyncer(exporter), log.Read, slog.New(slog.NewTextHandler(t.Output(), nil)))
		for j := range entries {
			if err := tr.entry(t.Context(), &entries[j]); err != nil {
				t.Fatal(err)
			}
		}
		runs[i] = exporter.GetSpans()
	}
	names := map[string]string{spanID(string(task)).String(): "task", spanID(dispatch.ID).String(): "round", "0000000000000000": ""}
	var got []seen
	for i, s := range runs[0] {
		if s.SpanContext.TraceID() != traceID(task) || s.SpanContext.SpanID() != runs[1][i].SpanContext.SpanID() {
			t.Errorf("%s: other ids the second time", s.Name)
		}
		got = append(got, seen{s.Name, names[s.Parent.SpanID().String()], s.EndTime.Sub(s.StartTime), s.Status.Code == codes.Error})
	}
	want := []seen{
		{"turn executor", "round", 1500 * time.Millisecond, false},
		{"check release", "round", 0, false},
		{"task " + string(task), "", release.At.Sub(ssottest.Start), false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
