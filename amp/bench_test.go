package amp

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// BenchmarkDecode reads and validates a task_result of 2 KB. The metric x-bare is its time as a multiple of what the JSON library
// alone takes for the same bytes, measured in turns with it.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, file, extra string }{
		{"result", "result", ""},
		{"result with an unknown name", "result", `"x_vendor":1,`},
		{"verdict", "verdict_rejected", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			data, err := os.ReadFile("testdata/messages/" + c.file + ".json")
			if err != nil {
				b.Fatal(err)
			}
			data = append([]byte("{"+c.extra), data[1:]...)
			bare := readResult
			if c.name == "verdict" {
				bare = readVerdict
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var door, alone []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, _, err := Decode(data); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if err := bare(data); err != nil {
					b.Fatal(err)
				}
				door, alone = append(door, middle.Sub(start)), append(alone, time.Since(middle))
			}
			b.ReportMetric(quartile(door), "door-ns")
			b.ReportMetric(quartile(door)/quartile(alone), "x-bare")
		})
	}
}

// quartile is the lower one, in nanoseconds: on a busy machine the mean says little.
func quartile(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/4])
}

// bare is a message for the JSON library alone, without any of the door's limits and checks.
type bare[P any] struct {
	MsgID           string      `json:"msg_id"`
	ProtocolVersion string      `json:"protocol_version"`
	Type            MessageType `json:"type"`
	From            Role        `json:"from"`
	To              Role        `json:"to"`
	TaskID          TaskID      `json:"task_id"`
	Timestamp       string      `json:"timestamp"`
	RequiresAck     bool        `json:"requires_ack"`
	AckTimeoutSec   int         `json:"ack_timeout_sec"`
	ContextRef      []string    `json:"context_ref"`
	Payload         P           `json:"payload"`
}

func readResult(data []byte) error  { return json.Unmarshal(data, new(bare[Result])) }
func readVerdict(data []byte) error { return json.Unmarshal(data, new(bare[Verdict])) }

func BenchmarkEncode(b *testing.B) {
	data, err := os.ReadFile("testdata/messages/result.json")
	if err != nil {
		b.Fatal(err)
	}
	m, _, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(m); err != nil {
			b.Fatal(err)
		}
	}
}
