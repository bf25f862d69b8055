package tuitest

import (
	"time"

	"arbiter/amp"
)

// SceneEnd is the moment of the scene: half past two in the afternoon, UTC.
var SceneEnd = time.Date(2026, 2, 26, 14, 32, 7, 0, time.UTC)

// Scene is a script at work: tasks in every status, two escalations, a question, a held verdict, plans that wait. Its clock
// stands at [SceneEnd].
func Scene() *Script {
	s := NewScript(SceneEnd.Add(-12 * time.Hour))
	at := func(before time.Duration) {
		s.mu.Lock()
		s.now = SceneEnd.Add(-before)
		s.mu.Unlock()
	}
	at(6 * time.Hour)
	s.NewTask("Index messages by task").Propose().Command(amp.Terminate, amp.Args{}, "not needed any more")
	done := s.NewTask("Sleep to clock in tests").Propose(one).Approve()
	pass(done).Command(amp.Deliver, amp.Args{}, "")
	s.Append(amp.KindCheck, done.ID, amp.System, "arbiter", amp.EncodeBody(&amp.Check{
		Subject: amp.CheckWorkspace, TaskID: done.ID,
		For: s.Task(done.ID).Doing.Command.ID, Claims: []amp.Claim{{Name: "merge", Finding: amp.Confirmed}},
	}))
	at(3 * time.Hour)
	pass(s.NewTask("Retry with jitter").Propose(one).Approve())

	at(72 * time.Minute)
	locked := s.NewTask("Migrate task table v7").Propose(high).Approve()
	locked.Reject().Reject()
	at(18 * time.Minute)
	locked.Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Verdict(amp.Rejected, 0.96).
		Escalate(amp.HallucinationLock, amp.Critical, "rejected 3 of 3 times: F1 recurs in all three").Proves()

	at(80 * time.Minute)
	watch := s.NewTask("Watch breathing timer").Propose(func(p *amp.Plan) {
		p.RiskLevel = amp.Medium
		p.AcceptanceCriteria = []string{"Resume after background, timing error <500ms", "XCode Cloud all tests passed", "No memory leak (Instruments verification)"}
	}).Approve()
	watch.Reject().Reject()

	at(30 * time.Minute)
	bench := s.NewTask("Bench harness").Propose().Approve()
	bench.Dispatch()
	at(22 * time.Minute)
	bench.Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent for 300 s, delivered twice").Ends(amp.TurnKilled).Proves()

	at(19 * time.Minute)
	s.NewTask("Split planner package").Propose(high, func(p *amp.Plan) { p.Revision = 4 })
	at(17*time.Minute + 40*time.Second)
	errors := s.NewTask("Error texts with next step").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	errors.Says("writing explain.go")

	at(12 * time.Minute)
	held := s.NewTask("Operating manual").Propose(one).Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest)
	at(5 * time.Minute)
	held.Verdict(amp.Approved, 0.72)
	s.NewTask("承認フローの翻訳 (JA)").Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Says("translating the approval flow")
	at(3 * time.Minute)
	s.NewTask("Dispatcher retry budget").Propose()
	at(2*time.Minute + 37*time.Second)
	compact := s.NewTask("Compact WAL at 64 MB").Propose().Approve().Dispatch()
	at(65 * time.Second)
	outbox := s.NewTask("Idempotent outbox replay").Propose(func(p *amp.Plan) { p.RiskLevel = amp.Medium }).Approve().Dispatch().Ack(amp.TaskDispatch)
	at(48 * time.Second)
	watch.Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request()
	at(45 * time.Second)
	ask := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	ask.Asks("go generate ./...")
	at(39 * time.Second)
	s.NewTask("Router property tests").Propose().Approve().Dispatch()
	at(10 * time.Second)
	s.NewTask("Trim verdict prompts")
	compact.Redelivered(amp.TaskDispatch)
	outbox.Result(amp.Complete)
	at(0)
	return s
}

func one(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }

func high(p *amp.Plan) { p.RiskLevel = amp.High }

func pass(t *Story) *Story {
	return t.Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Verdict(amp.Approved, 0.93)
}
