package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"arbiter/amp"
	"arbiter/ssot/events"
)

// tracer turns the journal into traces: a task is a trace, its rounds are spans below it, and the turns, checks and verdicts of a round
// spans below that. Ids are derived from the journal, so that spans which are sent again after a crash are the same ones.
type tracer struct {
	file     string
	read     events.ReadFunc
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	logger   *slog.Logger

	mu  sync.Mutex
	seq uint64
}

// newTracer returns a tracer of a data directory, nil when no endpoint is configured. One that is new begins at head.
func newTracer(ctx context.Context, home, endpoint string, head uint64, read events.ReadFunc, logger *slog.Logger) (*tracer, error) {
	if endpoint == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	var options []otlptracehttp.Option
	if endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimRight(endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("send traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces are not sent", "err", err) }))
	t := traceTo(sdktrace.WithBatcher(exporter), read, logger)
	t.file = filepath.Join(home, "traces.seq")
	data, err := os.ReadFile(t.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.seq = head
		return t, t.save()
	case err != nil:
		return nil, err
	}
	if t.seq, err = strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err != nil {
		return nil, fmt.Errorf("read how far traces were sent: %s is damaged", t.file)
	}
	return t, nil
}

// traceTo returns a tracer that sends to an exporter, as the option says.
func traceTo(exporter sdktrace.TracerProviderOption, read events.ReadFunc, logger *slog.Logger) *tracer {
	provider := sdktrace.NewTracerProvider(
		exporter, sdktrace.WithIDGenerator(derivedIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "arbiter"), attribute.String("service.version", version()))),
	)
	return &tracer{read: read, provider: provider, tracer: provider.Tracer("arbiter"), logger: logger}
}

func (t *tracer) save() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return renameio.WriteFile(t.file, []byte(strconv.FormatUint(t.seq, 10)+"\n"), 0o600)
}

// Position is the last entry whose spans were handed over.
func (t *tracer) Position() (uint64, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq, time.Time{}
}

// run traces the journal until ctx ends. What goes wrong is logged: traces stop no work.
func (t *tracer) run(ctx context.Context, follow events.FollowFunc) {
	from, _ := t.Position()
	err := follow(ctx, from, func(batch []amp.Entry) error {
		for i := range batch {
			if err := t.entry(ctx, &batch[i]); err != nil {
				return err
			}
		}
		if err := t.provider.ForceFlush(ctx); err != nil && ctx.Err() != nil {
			return ctx.Err() // they are sent again by the next coordinator; the handler of errors says of others why
		}
		t.mu.Lock()
		t.seq = batch[len(batch)-1].Seq
		t.mu.Unlock()
		return t.save()
	})
	if err != nil && ctx.Err() == nil {
		t.logger.Error("no traces are sent until the coordinator is started again", "err", err)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := t.provider.Shutdown(end); err != nil {
		t.logger.Warn("the last traces were not sent", "err", err)
	}
}

// entry sends the spans that end with an entry.
func (t *tracer) entry(ctx context.Context, e *amp.Entry) error {
	if e.TaskID == "" {
		return nil
	}
	switch e.Kind {
	case amp.KindTurn:
		u, err := amp.DecodeBody[amp.Turn](e)
		if err != nil || u.Event != amp.TurnEnded {
			return err
		}
		round, err := t.round(ctx, e)
		if err != nil {
			return err
		}
		t.span(e, traceSpan{
			name: "turn " + string(u.Role), id: u.TurnID, parent: round.id, begin: e.At.Add(-time.Duration(u.TookMS) * time.Millisecond), failed: u.Outcome != amp.TurnOK,
			why: string(u.Outcome), more: []attribute.KeyValue{
				attribute.String("arbiter.agent", u.Agent), attribute.String("arbiter.outcome", string(u.Outcome)), attribute.Int("arbiter.tokens", u.Tokens),
				attribute.Float64("arbiter.cost_usd", u.CostUSD), attribute.String("arbiter.for", u.For),
			},
		})
	case amp.KindCheck:
		return t.check(ctx, e)
	case amp.KindMessage:
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			return err
		}
		v, ok := m.Payload.(*amp.Verdict)
		if !ok {
			return nil
		}
		round, err := t.round(ctx, e)
		if err != nil {
			return err
		}
		t.span(e, traceSpan{
			name: "review_verdict", id: m.MsgID, parent: round.id, begin: e.At,
			more: []attribute.KeyValue{attribute.String("arbiter.decision", string(v.Decision)), attribute.Float64("arbiter.confidence", v.Confidence)},
		})
		t.span(e, traceSpan{
			name: fmt.Sprintf("round %d", round.n), id: round.id, parent: string(e.TaskID), begin: round.begin, failed: v.Decision == amp.Rejected, why: string(v.Decision),
			more: []attribute.KeyValue{attribute.Int64("arbiter.dispatch_seq", int64(round.seq))},
		})
	default: // no span ends with the others
	}
	return nil
}

// check sends the span of a check, and that of the task when its worktree is released: the task has ended.
func (t *tracer) check(ctx context.Context, e *amp.Entry) error {
	c, err := amp.DecodeBody[amp.Check](e)
	if err != nil {
		return err
	}
	round, err := t.round(ctx, e)
	if err != nil {
		return err
	}
	_, refuted, _ := c.Count()
	t.span(e, traceSpan{
		name: "check " + string(c.Subject), id: e.ID, parent: round.id, begin: e.At, failed: c.Blocked(), why: c.Text,
		more: []attribute.KeyValue{attribute.Int("arbiter.refuted", refuted), attribute.String("arbiter.for", c.For)},
	})
	if c.Subject != amp.CheckRelease {
		return nil
	}
	first, err := t.read(ctx, amp.Filter{TaskID: e.TaskID, Limit: 1})
	if err != nil || len(first) == 0 {
		return err
	}
	t.span(e, traceSpan{
		name: "task " + string(e.TaskID), id: string(e.TaskID), begin: first[0].At,
		more: []attribute.KeyValue{attribute.Int64("arbiter.first_seq", int64(first[0].Seq))},
	})
	return nil
}

// traceRound is the round that an entry belongs to: from its dispatch on. Before the first one it is the task itself.
type traceRound struct {
	id    string
	n     int
	seq   uint64
	begin time.Time
}

func (t *tracer) round(ctx context.Context, e *amp.Entry) (traceRound, error) {
	r := traceRound{id: string(e.TaskID), begin: e.At}
	for after := uint64(0); ; {
		page, err := t.read(ctx, amp.Filter{TaskID: e.TaskID, Kinds: []amp.Kind{amp.KindMessage}, After: after, Before: e.Seq})
		if err != nil || len(page) == 0 {
			return r, err
		}
		for i := range page {
			if typ, _, _, err := amp.ParseMsgID(page[i].ID); err == nil && typ == amp.TaskDispatch {
				r = traceRound{id: page[i].ID, n: r.n + 1, seq: page[i].Seq, begin: page[i].At}
			}
			after = page[i].Seq
		}
	}
}

// traceSpan is one span that has ended with an entry.
type traceSpan struct {
	name, id, parent string
	begin            time.Time
	failed           bool
	why              string
	more             []attribute.KeyValue
}

func (t *tracer) span(e *amp.Entry, s traceSpan) {
	ctx := context.WithValue(context.Background(), spanKey{}, spanIDs{traceID(e.TaskID), spanID(s.id)})
	if s.parent != "" {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID(e.TaskID), SpanID: spanID(s.parent), TraceFlags: trace.FlagsSampled,
		}))
	}
	_, out := t.tracer.Start(ctx, s.name, trace.WithTimestamp(s.begin), trace.WithAttributes(
		append(s.more, attribute.String("arbiter.task", string(e.TaskID)), attribute.Int64("arbiter.seq", int64(e.Seq)))...))
	if s.failed {
		out.SetStatus(codes.Error, s.why)
	}
	out.End(trace.WithTimestamp(e.At))
}

func traceID(task amp.TaskID) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("arbiter/trace/" + string(task)))
	copy(id[:], sum[:])
	return id
}

func spanID(name string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("arbiter/span/" + name))
	copy(id[:], sum[:])
	return id
}

type spanKey struct{}

type spanIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

// derivedIDs gives a span the ids that its context holds.
type derivedIDs struct{}

// NewIDs are the ids of a span without a parent.
func (derivedIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(spanKey{}).(spanIDs)
	return ids.trace, ids.span
}

// NewSpanID is the id of a span with a parent.
func (derivedIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	ids, _ := ctx.Value(spanKey{}).(spanIDs)
	return ids.span
}
