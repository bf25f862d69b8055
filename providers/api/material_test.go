package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/modeltest"
)

func given(parts ...Part) func(context.Context, providers.Turn) ([]Part, error) {
	return func(context.Context, providers.Turn) ([]Part, error) { return parts, nil }
}

// file is a part of n bytes, with a word at its end.
func file(name string, n int, word string) Part {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "+line %d of %s\n", i, name)
	}
	return Part{Name: name, Text: b.String() + "+" + word + "\n"}
}

// read is a step that has read as much as it was sent.
func read(text string) modeltest.Step {
	return modeltest.Step{Text: text, Usage: modeltest.Usage{Input: 40_000, Output: 40}}
}

func decision(t *testing.T, res result) amp.Verdict {
	t.Helper()
	var v amp.Verdict
	if res.err != nil || json.Unmarshal(res.out.Final, &v) != nil {
		t.Fatalf("Run = %s, %v", res.out.Final, res.err)
	}
	return v
}

func passed(v amp.Verdict) string {
	var words []string
	for _, c := range v.CriteriaResults {
		word := "null"
		if c.Passed != nil {
			word = fmt.Sprint(*c.Passed)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestMaterial_oneRequest(t *testing.T) {
	t.Parallel()
	bubble(t, "fits", func(t *testing.T, d Dialect) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Say(verdict("approved", "true", "true"))}})
		res := play(t, Config{
			Dialect: d, Transport: modeltest.Transport(m), Material: given(file("a.go", 1000, "alpha"), file("b.go", 2000, "beta")),
		}, reviewer())
		v := decision(t, res)
		if passed(v) != "true true" || !strings.Contains(v.ArchitectureNotes, "Seen: 2 of 2 files") || len(m.Requests()) != 1 {
			t.Errorf("verdict %+v in %d requests", v, len(m.Requests()))
		}
		body := string(m.Requests()[0].Body)
		for _, want := range []string{"alpha", "beta", "a.go", "You have no tools"} {
			if !strings.Contains(body, want) {
				t.Errorf("the request lacks %s", want)
			}
		}
		if !strings.Contains(res.said(), "Seen: 2 of 2 files") {
			t.Errorf("events: %s", res.said())
		}
	})
}

// TestMaterial_parts: a change of 2.4 MB against a model of 64,000 tokens goes in parts, all of it, and the findings are joined.
func TestMaterial_parts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parts := []Part{file("first.go", 900_000, "alpha"), file("second.go", 1_000_000, "beta"), file("third.go", 500_000, "gamma")}
		bad := strings.Replace(verdict("rejected", "null", "false"), "0.9", "0.4", 1)
		m := modeltest.New(
			modeltest.Script{Match: "+beta", Plain: true, Steps: []modeltest.Step{read(bad)}},
			modeltest.Script{Match: "+alpha", Plain: true, Steps: []modeltest.Step{read(verdict("approved", "true", "true"))}},
			modeltest.Script{Plain: true, Steps: []modeltest.Step{read(verdict("approved", "null", "null"))}},
		)
		res := play(t, Config{Dialect: Chat, Transport: modeltest.Transport(m), Material: given(parts...)}, reviewer())
		v := decision(t, res)
		if v.Decision != amp.Rejected || passed(v) != "true false" || v.Confidence != 0.4 || len(v.Issues) != 1 {
			t.Errorf("verdict = %+v", v)
		}
		n := len(m.Requests())
		want := fmt.Sprintf("Seen: 3 of 3 files, %[1]d of %[1]d bytes, in %d requests.", len(parts[0].Text)+len(parts[1].Text)+len(parts[2].Text), n)
		if !strings.Contains(v.ArchitectureNotes, want) || n < 10 || n > 24 {
			t.Errorf("%d requests; notes = %s, want %s", n, v.ArchitectureNotes, want)
		}
		sent := map[string]bool{}
		for _, r := range m.Requests() {
			if float64(len(r.Body)) > 64_000*bytesPerToken {
				t.Errorf("a request has %d bytes", len(r.Body))
			}
			for line := range strings.SplitSeq(string(r.Body), `\n`) {
				sent[line] = true
			}
		}
		for _, p := range parts {
			for line := range strings.Lines(p.Text) {
				if !sent[strings.TrimSpace(line)] {
					t.Fatalf("%q was not sent", line)
				}
			}
		}
		if res.out.Usage.Input != 40_000*n || res.acks() != 1 || !strings.Contains(res.said(), fmt.Sprintf("asks about part %d of %d", n, n)) {
			t.Errorf("usage %+v, %d acks, events %s", res.out.Usage, res.acks(), res.said())
		}
	})
}

// TestMaterial_unseen: what cannot be sent keeps every criterion from passing.
func TestMaterial_unseen(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		parts []Part
		want  string
	}{
		"missing":       {[]Part{{Name: "big.bin", Text: "+x\n", Missing: "12 bytes are not shown"}}, "big.bin: 12 bytes are not shown"},
		"missing, none": {[]Part{{Name: "more", Missing: "7 files"}}, "more: 7 files"},
		"too much":      {[]Part{file("a.go", 700_000, "alpha"), file("b.go", 300_000, "beta")}, "b.go: 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Say(verdict("approved", "true", "true"))}})
				res := play(t, Config{Dialect: Chat, Requests: 3, Transport: modeltest.Transport(m), Material: given(tc.parts...)}, reviewer())
				v := decision(t, res)
				if passed(v) != "null null" || !strings.Contains(v.ArchitectureNotes, "Not seen: ") || !strings.Contains(v.ArchitectureNotes, tc.want) ||
					!strings.Contains(v.CriteriaResults[0].Evidence, "Not verified") {
					t.Errorf("verdict = %+v", v)
				}
				if len(m.Requests()) > 3 {
					t.Errorf("%d requests", len(m.Requests()))
				}
			})
		})
	}
}

// TestMaterial_shortened: a server that reads less than it was sent, and says so only in its count of tokens.
func TestMaterial_shortened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{
			{Text: verdict("approved", "true", "true"), Usage: modeltest.Usage{Input: 2000, Output: 40}},
		}})
		res := play(t, Config{Dialect: Chat, Transport: modeltest.Transport(m), Material: given(file("a.go", 100_000, "x"))}, reviewer())
		if v := decision(t, res); passed(v) != "null null" || !strings.Contains(v.ArchitectureNotes, "the service read only 2000 tokens") {
			t.Errorf("verdict = %+v", v)
		}
	})
}

// TestMaterial_tooLarge: a service that counts more tokens than were estimated gets smaller parts.
func TestMaterial_tooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const refusal = `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000."}}`
		steps := []modeltest.Step{{Status: 400, Body: refusal, Times: 2}, read(verdict("approved", "true", "true"))}
		m := modeltest.New(modeltest.Script{Plain: true, Steps: steps})
		c := Config{Dialect: Chat, Transport: modeltest.Transport(m), Material: given(file("a.go", 150_000, "x"))}
		res := play(t, c, reviewer())
		if v := decision(t, res); passed(v) != "true true" || !strings.Contains(v.ArchitectureNotes, "Seen: 1 of 1 files") || len(m.Requests()) < 5 {
			t.Errorf("%d requests, verdict = %+v", len(m.Requests()), v)
		}
		if !strings.Contains(res.said(), "smaller parts") {
			t.Errorf("events: %s", res.said())
		}
		m = modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{{Status: 400, Body: refusal}}})
		c.Transport = modeltest.Transport(m)
		if res := play(t, c, reviewer()); res.failed == nil || res.failed.Failure != providers.FailConfig || len(m.Requests()) > 4 {
			t.Errorf("%d requests, failed = %v", len(m.Requests()), res.failed)
		}
	})
}

// TestMaterial_planner: a planner sees what has room in one request, also in the steps of a chain, and is told of the rest.
func TestMaterial_planner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{read("as it is")}})
		c := Config{Dialect: Chat, Transport: modeltest.Transport(m), Material: given(file("README", 1000, "alpha"), file("list", 400_000, "omega"))}
		turn := providers.Turn{Role: amp.Coordinator, Dir: "/x", Prompt: &providers.Prompt{System: "s", Text: "what is asked"}}
		if res := play(t, c, turn); res.err != nil || res.out.Text != "as it is" || !strings.Contains(res.said(), "Not seen: list: ") {
			t.Fatalf("%+v, %v\n%s", res.out, res.err, res.said())
		}
		body := string(m.Requests()[0].Body)
		if !strings.Contains(body, "alpha") || strings.Contains(body, "omega") || !strings.Contains(body, "Not seen: list: ") || strings.Contains(body, "approved_with_fix") ||
			strings.Index(body, "alpha") > strings.Index(body, "what is asked") {
			t.Errorf("%.400s … %s", body, body[len(body)-400:])
		}
		turn.Dir = ""
		if play(t, c, turn); strings.Contains(string(m.Requests()[1].Body), "alpha") {
			t.Error("a turn without a folder was shown one")
		}
	})
}

// TestMaterial_hostile: names and texts that are made to blow a request up.
func TestMaterial_hostile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{read(verdict("approved", "true", "true"))}})
		parts := []Part{
			{Name: strings.Repeat("dir/", 1000) + "é", Text: strings.Repeat("`", 200_000)},
			{Name: "one line", Text: strings.Repeat("é", 150_000)},
			{Name: "no text", Text: "\xff\xfe\x00\x1b[2J"},
		}
		res := play(t, Config{Dialect: Chat, Transport: modeltest.Transport(m), Material: given(parts...)}, reviewer())
		v := decision(t, res)
		if passed(v) != "true true" || !strings.Contains(v.ArchitectureNotes, "Seen: 3 of 3 files") {
			t.Errorf("verdict = %+v", v)
		}
		for _, r := range m.Requests() {
			if len(r.Body) > 220_000 {
				t.Errorf("a request has %d bytes", len(r.Body))
			}
		}
	})
}

func TestMaterial_fails(t *testing.T) {
	t.Parallel()
	m := modeltest.New(modeltest.Script{Plain: true})
	for want, c := range map[string]Config{
		"no such commit":       {Material: func(context.Context, providers.Turn) ([]Part, error) { return nil, errors.New("no such commit") }},
		"raise context_tokens": {ContextTokens: 2000, Material: given(file("a", 100, "x"))},
	} {
		c.Dialect, c.Transport = Claude, modeltest.Transport(m)
		res := play(t, c, reviewer())
		if res.failed == nil || res.failed.Failure != providers.FailConfig || !strings.Contains(res.failed.Text, want) {
			t.Errorf("Run = %v, want %s", res.err, want)
		}
	}
	if len(m.Requests()) > 0 {
		t.Error("a request was made")
	}
}

// TestPack_nothingIsLost: whatever the sizes, each bag has room, and what is sent and what is missing are all.
func TestPack_nothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		room, most := rapid.IntRange(1000, 3000).Draw(r, "room"), rapid.IntRange(1, 12).Draw(r, "most")
		var parts []Part
		total := 0
		for i, lines := range rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching(`[a-zé ]{0,900}`), 0, 8), 0, 6).Draw(r, "files") {
			parts = append(parts, Part{Name: fmt.Sprintf("f%d", i), Text: strings.Join(lines, "\n")})
			total += len(parts[i].Text)
		}
		s := &share{parts: len(parts)}
		bags := s.pack(parts, room, most)
		if s.total != total || s.bytes > total || len(bags) > most || len(bags) == 0 {
			r.Fatalf("%+v in %d bags of %d bytes", s, len(bags), total)
		}
		if (s.bytes < total) != (len(s.missing) > 0) || s.names+len(s.missing) != len(parts) {
			r.Fatalf("%+v", s)
		}
		for _, bag := range bags {
			if len(bag) > room || !utf8.ValidString(bag) {
				r.Fatalf("a bag has %d bytes, valid %v", len(bag), utf8.ValidString(bag))
			}
		}
		for _, p := range parts {
			if got := strings.Join(cut(p.Text, room), ""); got != p.Text {
				r.Fatalf("cut lost something")
			}
		}
	})
}
