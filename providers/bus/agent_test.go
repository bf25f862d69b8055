package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// player is an agent on the bus that plays a script for each request that it gets.
type player struct {
	bus    *Bus
	id     string
	script agenttest.Script
	n      int
}

// run plays until ctx ends.
func (p *player) run(ctx context.Context, s *Session) {
	for {
		got, err := s.Next(ctx, 1)
		if err != nil {
			return
		}
		if s.Confirm(ctx, got[0].Key) != nil || p.play(ctx, got[0].Message) != nil {
			return
		}
	}
}

func (p *player) say(ctx context.Context, to *Message, typ MessageType, payload any, meta map[string]any) error {
	p.n++
	raw := note(fmt.Sprintf("%s-%d", to.MessageID, p.n), p.id, Coordinator, func(m *Message) {
		m.Type, m.Payload = typ, value(payload)
		m.Metadata = map[string]amp.Raw{"task_id": to.Metadata["task_id"], "original_message_id": quote(to.MessageID)}
		for name, v := range meta {
			m.Metadata[name] = value(v)
		}
		if s, ok := meta["session"]; ok {
			m.Sender.SessionID = s.(string)
		}
	})
	_, err := p.bus.Send(ctx, anyone, raw)
	return err
}

func (p *player) play(ctx context.Context, m *Message) error {
	for _, step := range p.script.Steps {
		var err error
		switch step.Do {
		case agenttest.AckMessage:
			ack := map[string]any{"status": "accepted", "ack_for": m.MessageID}
			if step.Text != "" {
				ack["echoed_acceptance_criteria"] = []string{step.Text}
			}
			err = p.say(ctx, m, StatusUpdate, ack, nil)
		case agenttest.RefuseMessage:
			err = p.say(ctx, m, StatusUpdate, map[string]any{"status": "refused", "reason": step.Text}, nil)
		case agenttest.Say:
			err = p.say(ctx, m, StatusUpdate, map[string]any{"notes": step.Text}, nil)
		case agenttest.NameSession:
			err = p.say(ctx, m, StatusUpdate, nil, map[string]any{"session": step.Text})
		case agenttest.Use:
			err = p.say(ctx, m, StatusUpdate, nil, map[string]any{"usage": map[string]any{"tokens": step.N, "cost_usd": float64(step.N) / 100}})
		case agenttest.Escalate:
			err = p.say(ctx, m, ErrorMessage, step.Payload, nil)
		case agenttest.Answer, agenttest.BareAnswer:
			err = p.say(ctx, m, TaskResponse, map[string]any{"status": "completed", "payload": step.Payload}, nil)
		case agenttest.Flood:
			for range step.N / (64 << 10) {
				err = p.say(ctx, m, StatusUpdate, map[string]any{"notes": strings.Repeat("x", 64<<10)}, nil)
			}
		case agenttest.Pause:
			select {
			case <-time.After(time.Duration(step.N) * time.Millisecond):
			case <-ctx.Done():
			}
		case agenttest.Hang, agenttest.IgnoreStdin, agenttest.Stubborn:
		default:
			err = fmt.Errorf("no form for %s", step.Do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The suite of all agents, as far as it is not about processes: an agent on the bus has neither folder, environment, exit code nor streams, and
// its turn ends with its answer.
func TestConformance(t *testing.T) {
	t.Parallel()
	lacks := []agenttest.Action{
		agenttest.CutAnswer, agenttest.WriteOut, agenttest.WriteErr, agenttest.Daemon, agenttest.ShowEnviron, agenttest.ShowDir,
		agenttest.ReadStdin, agenttest.LongLine,
	}
	agenttest.Run(t, func(t *testing.T, script agenttest.Script) providers.Agent {
		t.Helper()
		answers := 0
		for _, step := range script.Steps {
			if slices.Contains(lacks, step.Do) {
				t.Skipf("the bus has no form for %s", step.Do)
			}
			if step.Do == agenttest.Answer {
				answers++
			}
		}
		ends := answers == 0 && !script.Has(agenttest.Hang) && !script.Has(agenttest.RefuseMessage) && !script.Has(agenttest.Pause) && !script.Has(agenttest.BareAnswer)
		if script.Missing || script.Exit != 0 || answers > 1 || ends && !script.Has(agenttest.Flood) {
			t.Skip("about how a program ends")
		}
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada)
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		s := open(t, b, ada)
		done := make(chan struct{})
		go func() { defer close(done); (&player{bus: b, id: ada, script: script}).run(ctx, s) }()
		t.Cleanup(func() { cancel(); <-done })
		a, err := b.Agent(AgentConfig{Name: "ada", AgentID: ada})
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
}

const dispatch = `{"msg_id":"task_dispatch-T-2026-001-1790000000123", "protocol_version":"AMP/1.0","type":"task_dispatch","from":"coordinator","to":"executor",` +
	`"task_id":"T-2026-001","timestamp":"2026-09-21T12:00:00Z","requires_ack":true,"ack_timeout_sec":240,"context_ref":["task_dispatch-T-2026-001-1780000000000"],` +
	`"payload":{"description":"\u00e4 \"d\"","repo":"/r","branch":"feature/x","subtasks":[{"subtask_id":"T-2026-001-S1","description":"s","estimated_lines":1}],` +
	`"acceptance_criteria":["it works"],"risk_level":"high","x_number":12345678901234567890,"payload":"odd"}}`

func turnOf(message string) providers.Turn {
	return providers.Turn{ID: "turn-1", Task: "T-2026-001", Role: amp.Executor, Epoch: 1, Dir: "/w", Subtask: "T-2026-001-S1", Message: json.RawMessage(message)}
}

// An AMP message crosses the bus whole: envelope, payload and the message itself come out as they went in.
func TestRequest_mapping(t *testing.T) {
	t.Parallel()
	turn := turnOf(dispatch)
	m, err := Request(&turn, bob, []string{cyd})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Request(&turn, bob, []string{cyd})
	if err != nil || !bytes.Equal(m.Raw, again.Raw) || !strings.HasPrefix(m.MessageID, "msg_1790000000123_") || len(m.MessageID) != len("msg_1790000000123_")+8 {
		t.Errorf("the same turn is another message: %s", m.MessageID)
	}
	if _, warnings, err := DecodeStrict(m.Raw); err != nil || len(warnings) > 0 {
		t.Errorf("strictly: %v, %v", warnings, err)
	}
	if m.Priority != High || m.Routing.Timeout != "240s" || m.Routing.DeliveryMode != Async || m.Routing.RetryPolicy != (RetryPolicy{2, Exponential}) ||
		m.Routing.FallbackAgents[0] != cyd || m.Sender != (Identifier{Coordinator, "amp", "T-2026-001"}) || m.Recipient.Framework != "codex" || m.Type != TaskRequest {
		t.Errorf("message = %s", m.Raw)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal([]byte(dispatch), &whole); err != nil {
		t.Fatal(err)
	}
	nested := member(m.Payload, "payload")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(dispatch)); err != nil {
		t.Fatal(err)
	}
	if got := member(nested, "amp"); string(got) != compact.String() {
		t.Errorf("the whole message:\n got %s\nwant %s", got, compact.String())
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(whole["payload"], &payload); err != nil {
		t.Fatal(err)
	}
	for name, want := range payload {
		if got := member(nested, name); string(got) != string(want) {
			t.Errorf("payload.payload.%s = %s, want %s", name, got, want)
		}
		if got := member(m.Payload, name); name != "payload" && string(got) != string(want) { // B05: flat too
			t.Errorf("payload.%s = %s, want %s", name, got, want)
		}
	}
	delete(whole, "payload")
	for name, want := range whole {
		if got := member(m.Metadata["amp"], name); string(got) != string(want) {
			t.Errorf("metadata.amp.%s = %s, want %s", name, got, want)
		}
	}
	if textOf(member(m.Payload, "task_type")) != "amp_task_dispatch" || string(m.Metadata["session_trace"]) != `["task_dispatch-T-2026-001-1780000000000"]` ||
		!strings.Contains(textOf(member(nested, "prompt")), "acceptance criteri") {
		t.Errorf("payload = %.400s", m.Payload)
	}
	turn.Refused = []string{"no"}
	if other, err := Request(&turn, bob, nil); err != nil || other.MessageID == m.MessageID {
		t.Errorf("a turn that asks again is the same message: %v", err)
	}
	turn.Refused, turn.Context = nil, []json.RawMessage{json.RawMessage(`{"type":"escalation","payload":{"severity":"critical"}}`)}
	if other, err := Request(&turn, bob, nil); err != nil || other.Priority != Critical {
		t.Errorf("after a critical escalation: %v, %v", other.Priority, err)
	}
}

// What an agent answers becomes the outcome, in each form that adapters use; what holds no payload is a failure.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	result := `{"subtask_id":"T-2026-001-S1","completion_status":"complete","n":12345678901234567890}`
	sacp := `{"thought":"t","status":"success","data":` + result + `,"message":"m"}`
	for name, tc := range map[string]struct{ payload, final, question, fails string }{
		"flat":           {result, result, "", ""},
		"flat, status":   {`{"status":"completed",` + result[1:], result, "", ""},
		"nested":         {`{"status":"completed","payload":` + result + `}`, result, "", ""},
		"result":         {`{"status":"completed","result":` + result + `}`, result, "", ""},
		"SACP":           {sacp, result, "", ""},
		"SACP nested":    {`{"payload":` + sacp + `}`, result, "", ""},
		"text nested":    {`{"payload":{"output":` + string(quote(sacp)) + `}}`, result, "", ""},
		"text":           {`{"output":` + string(quote("Here:\n"+sacp)) + `}`, result, "", ""},
		"whole":          {`{"status":"completed","amp":{"protocol_version":"AMP/1.0","x":1}}`, `{"protocol_version":"AMP/1.0","x":1}`, "", ""},
		"question":       {`{"thought":"","status":"clarification_needed","data":{},"message":"Which?"}`, "", "Which?", ""},
		"failed":         {`{"status":"failed","error":"no disk"}`, "", "", "no disk"},
		"no payload":     {`{"status":"completed","findings":[]}`, "", "", "holds no payload of a task_result"},
		"null":           {`null`, "", "", "holds no"},
		"prose":          {`{"output":"I am done"}`, "", "", "no SACP object"},
		"another role's": {`{"decision":"approved"}`, "", "", "holds no"},
	} {
		var out providers.Outcome
		turn := turnOf(dispatch)
		failed := readAnswer(&turn, &Message{Payload: []byte(tc.payload)}, &out)
		text := ""
		if failed != nil {
			text = failed.Text
		}
		if (tc.fails == "") != (failed == nil) || !strings.Contains(text, tc.fails) || !sameJSON(out.Final, tc.final) || out.Question != tc.question {
			t.Errorf("%s: final %s, question %q, %v", name, out.Final, out.Question, failed)
		}
	}
}

// sameJSON compares the members of objects by their bytes.
func sameJSON(got json.RawMessage, want string) bool {
	var a, b map[string]json.RawMessage
	if want == "" || len(got) == 0 {
		return want == string(got)
	}
	return json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && fmt.Sprintf("%s", a) == fmt.Sprintf("%s", b)
}

// scripted are agents that each play a script, on one bus in a bubble.
func scripted(t *testing.T, b *Bus, scripts map[string]func(ctx context.Context, p *player, m *Message) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	for id, play := range scripts {
		enlist(t, b, id)
		s := open(t, b, id)
		go func() {
			p := &player{bus: b, id: id}
			for {
				got, err := s.Next(ctx, 1)
				if err != nil {
					return
				}
				if s.Confirm(ctx, got[0].Key) != nil || play(ctx, p, got[0].Message) != nil {
					return
				}
			}
		}()
	}
}

func run1(t *testing.T, b *Bus, turn providers.Turn, fallback ...string) (events []string, out providers.Outcome, err error) {
	t.Helper()
	a, err := b.Agent(AgentConfig{Name: "bob", AgentID: bob, Fallback: fallback})
	if err != nil {
		t.Fatal(err)
	}
	out, err = a.Run(t.Context(), turn, func(e providers.Event) {
		switch {
		case e.Ack != nil:
			events = append(events, "ack "+string(e.Ack.Status)+" "+strings.Join(e.Ack.EchoedAcceptanceCriteria, ","))
		case e.Payload != nil:
			events = append(events, string(e.Type)+" "+string(e.Payload))
		default:
			events = append(events, e.Text)
		}
	})
	return events, out, err
}

// An error fails the delegation: it is tried again, then given to the fallback agent, whose answer counts (B08).
func TestAgent_errorsAndFallback_B08(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		tries := 0
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				tries++
				return p.say(ctx, m, ErrorMessage, map[string]any{"error_code": "E", "error_message": "it broke"}, nil)
			},
			cyd: func(ctx context.Context, p *player, m *Message) error {
				if textOf(m.Metadata["original_recipient"]) != bob {
					t.Errorf("original_recipient = %s", m.Metadata["original_recipient"])
				}
				return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
			},
		})
		events, out, err := run1(t, b, turnOf(dispatch), cyd)
		if err != nil || string(out.Final) != `{"completion_status":"complete"}` || tries != 3 {
			t.Errorf("%s, %v after %d tries; %q", out.Final, err, tries, events)
		}
		if _, _, err := run1(t, b, turnOf(strings.Replace(dispatch, "123\"", "124\"", 1))); err == nil || !strings.Contains(err.Error(), "E: it broke") || tries != 6 {
			t.Errorf("without a fallback agent: %v after %d tries", err, tries)
		}
		stop()
	})
}

// An older adapter that never acknowledges: the first thing that it sends is the ACK. An escalation of level info comes as a status_update.
func TestAgent_olderAdapter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				_ = p.say(ctx, m, StatusUpdate, map[string]any{"phase": "analysis", "percent_complete": 65, "notes": "Scanning"}, nil)
				_ = p.say(ctx, m, StatusUpdate, map[string]any{"escalation_type": "conflict", "severity": "info"}, nil)
				return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
			},
		})
		events, _, err := run1(t, b, turnOf(dispatch))
		if want := []string{"ack accepted it works", "analysis: 65 %: Scanning", `escalation {"escalation_type":"conflict","severity":"info"}`}; err != nil || !slices.Equal(events, want) {
			t.Errorf("events %q, %v; want %q", events, err, want)
		}
		stop()
	})
}

// A coordinator that dies between the answer and the end of the turn finds the answer again, and asks nobody twice; a request that nobody had
// taken is not doubled either.
func TestAgent_restart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		asked := 0
		answer := map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				asked++
				return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
			},
		}
		b, stop := start(t, j, nil)
		scripted(t, b, answer)
		if _, out, err := run1(t, b, turnOf(dispatch)); err != nil || len(out.Final) == 0 {
			t.Fatal(err)
		}
		stop() // at once: the end of the turn was not written
		b, stop = start(t, j, nil)
		if _, out, err := run1(t, b, turnOf(dispatch)); err != nil || len(out.Final) == 0 || asked != 1 {
			t.Errorf("after the restart: %s, %v; asked %d times", out.Final, err, asked)
		}
		time.Sleep(2 * time.Minute)
		if n := len(b.Queue("")); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		stop()
	})
}

// An answer in another name, of another role, or to an earlier request is not heard.
func TestAgent_wrongVoices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		b, stop := start(t, j, func(c *Config) { c.Members = map[string]Member{bob: {Name: "bob", Roles: []amp.Role{amp.Executor}}} })
		defer stop()
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			cyd: func(context.Context, *player, *Message) error { return nil },
			bob: func(ctx context.Context, p *player, m *Message) error {
				if err := (&player{bus: b, id: cyd}).say(ctx, m, TaskResponse, map[string]any{"completion_status": "stolen"}, nil); ruleOf(err) != "BUS-045" {
					t.Errorf("an agent that was not asked is heard: %v", err)
				}
				stale := *m
				stale.MessageID = "msg_0_old"
				_ = p.say(ctx, &stale, TaskResponse, map[string]any{"completion_status": "stale"}, nil)
				return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, nil)
			},
		})
		if _, out, err := run1(t, b, turnOf(dispatch)); err != nil || string(out.Final) != `{"completion_status":"complete"}` {
			t.Errorf("%s, %v", out.Final, err)
		}
		turn := turnOf(dispatch)
		turn.Role = amp.Reviewer
		if _, _, err := run1(t, b, turn); err == nil || !strings.Contains(err.Error(), "not for the reviewer") {
			t.Errorf("an executor's agent is asked to review: %v", err)
		}
		if got := j.refusals(t); !slices.Contains(got, "BUS-045") {
			t.Errorf("refusals = %q", got)
		}
		stop()
	})
}

// A turn that is stopped takes back the request that nobody has, and a silent agent is not waited for.
func TestAgent_stopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, func(c *Config) { c.Members = map[string]Member{bob: {Name: "bob"}} })
		defer stop()
		turn := turnOf(dispatch)
		turn.Limits.Silence = time.Minute
		began := time.Now()
		_, _, err := run1(t, b, turn)
		if failed, ok := err.(*providers.TurnError); !ok || failed.Failure != providers.FailSilent || time.Since(began) != time.Minute { //nolint:errorlint // it is that
			t.Errorf("Run = %v after %s", err, time.Since(began))
		}
		if n := len(b.Queue("")); n != 0 {
			t.Errorf("%d requests wait", n)
		}
		stop()
	})
}

// An agent that says absurd things of what it took gets no number that the journal cannot hold.
func TestAgent_absurdUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		scripted(t, b, map[string]func(context.Context, *player, *Message) error{
			bob: func(ctx context.Context, p *player, m *Message) error {
				usage := map[string]any{"usage": map[string]any{"cost_usd": math.MaxFloat64, "input_tokens": math.MaxInt64, "output_tokens": math.MaxInt64}}
				_ = p.say(ctx, m, StatusUpdate, nil, usage)
				return p.say(ctx, m, TaskResponse, map[string]any{"completion_status": "complete"}, usage)
			},
		})
		_, out, err := run1(t, b, turnOf(dispatch))
		if err != nil || math.IsInf(out.Usage.CostUSD, 0) || out.Usage.Tokens <= 0 || out.Usage.Input <= 0 {
			t.Errorf("usage %+v, %v", out.Usage, err)
		}
		stop()
	})
}
