package sqlite

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// sample makes the facts of a long journal: of 10,000 tasks with 64 in flight, messages, reports, ACKs and checks, in words that
// are as unevenly common as those of people. The same number gives the same fact.
type sample struct {
	words []string
	tasks int
}

func newSample() *sample {
	r := rand.New(rand.NewPCG(1, 2))
	s := &sample{tasks: 10_000}
	syllables := strings.Fields("ka lo ri ten sa mo du vi re nap os tra ul be qui zen fo ly ar gen dim pol xu hai")
	for range 20_000 {
		var w strings.Builder
		for range 2 + r.IntN(3) {
			w.WriteString(syllables[r.IntN(len(syllables))])
		}
		s.words = append(s.words, w.String())
	}
	return s
}

// task is the one that a fact is about.
func (s *sample) task(n int) amp.TaskID { return ssottest.Task(1 + (n/6400*64+n%64)%s.tasks) }

func (s *sample) record(n int) amp.Record {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(s.words)-1))
	text := func(count int) string {
		var b strings.Builder
		for i := range count {
			if i > 0 {
				b.WriteByte(' ')
			}
			w := s.words[zipf.Uint64()]
			switch r.IntN(25) {
			case 0:
				w = strings.ToUpper(w[:1]) + w[1:] + strings.ToUpper(s.words[r.IntN(300)][:3]) + ".go"
			case 1:
				w += ","
			}
			b.WriteString(w)
		}
		return b.String()
	}
	file := func() string { return fmt.Sprintf("internal/%s/%s.go", s.words[r.IntN(40)], s.words[r.IntN(2000)]) }
	task := s.task(n)
	at := ssottest.Start.Add(time.Duration(n) * 8 * time.Second)
	id := "e" + strconv.Itoa(n)
	var f amp.Record
	switch k := r.IntN(100); {
	case k < 60:
		f = ssottest.Turn(id, task, "turn-"+strconv.Itoa(n/64), amp.TurnProgress)
		f.Body = amp.EncodeBody(amp.Turn{
			TurnID: "turn-" + strconv.Itoa(n/64), Event: amp.TurnProgress, TaskID: task, Role: amp.Executor,
			Agent: []string{"codex", "claude", "gemini"}[r.IntN(3)], Epoch: 1, Text: text(12 + r.IntN(30)),
		})
	case k < 75:
		f = ssottest.Ack(id, task, amp.NewMsgID(amp.TaskDispatch, task, at, nil), amp.Executor)
	case k < 80:
		f = ssottest.Raw(id, task, amp.EncodeBody(map[string]any{"topic": "bus", "text": text(40), "n": n}))
	case k < 85:
		f = ssottest.Note(id, task, text(60))
	case k < 90:
		hash := fmt.Sprintf("%016x%016x%08x", r.Uint64(), r.Uint64(), r.Uint32())
		f = ssottest.Result(task, at)
		f.Body = reencode(f.Body, func(m *amp.Message) {
			p := m.Payload.(*amp.Result)
			p.CommitHash = hash
			p.DiffSummary.FilesChanged = []string{file(), file(), file()}
			p.SelfAssessment.Notes = []string{text(40)}
			for range 4 {
				p.WorkLog = append(p.WorkLog, amp.WorkItem{Timestamp: amp.FormatTime(at), Action: "edit", File: file(), Detail: text(20)})
			}
		})
	case k < 95:
		f = ssottest.Dispatch(task, at)
		f.Body = reencode(f.Body, func(m *amp.Message) { m.Payload.(*amp.Dispatch).Description = text(120) })
	case k < 99:
		f = s.verdict(task, at, r, text, file)
	default:
		raw := []byte(`{"type":"task_result","task_id":"` + string(task) + `","note":"` + text(30) + `"}`)
		f = ssottest.Refusal(id, task, raw)
	}
	f.At = at
	return f
}

func (s *sample) verdict(task amp.TaskID, at time.Time, r *rand.Rand, text func(int) string, file func() string) amp.Record {
	no := false
	v := &amp.Verdict{
		Decision: amp.Rejected, Confidence: 0.9,
		CriteriaResults: []amp.CriterionResult{{Criterion: "it greets", Passed: &no, Evidence: text(20)}},
		Issues: []amp.Issue{
			{Severity: amp.IssueMajor, File: file(), Line: 1 + r.IntN(900), Description: text(40), SuggestedFix: text(20)},
			{Severity: amp.IssueMinor, File: file(), Line: 1 + r.IntN(900), Description: text(30), SuggestedFix: text(10)},
		},
	}
	id := amp.NewMsgID(amp.ReviewVerdict, task, at, nil)
	body, err := amp.Encode(&amp.Message{
		MsgID: id, ProtocolVersion: amp.Version, Type: amp.ReviewVerdict, From: amp.Reviewer, To: amp.Coordinator, TaskID: task,
		Timestamp: amp.FormatTime(at), RequiresAck: true, ContextRef: []string{amp.NewMsgID(amp.ReviewRequest, task, at, nil)}, Payload: v,
	})
	if err != nil {
		panic(err) // only a test is broken then
	}
	return amp.Record{Kind: amp.KindMessage, TaskID: task, Role: amp.Reviewer, Actor: "claude", At: at, ID: id, Body: body}
}

func reencode(body []byte, change func(*amp.Message)) []byte {
	m, _, err := amp.Decode(body)
	if err != nil {
		panic(err)
	}
	change(m)
	if body, err = amp.Encode(m); err != nil {
		panic(err)
	}
	return body
}
