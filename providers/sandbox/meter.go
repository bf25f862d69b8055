//go:build linux || darwin

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Used is what one answer of a model took, as the answer says.
type Used struct {
	Model string
	// Input are all tokens read, those from a cache included; Cached came from a cache, CacheWrite were written to one. Output are all
	// tokens written.
	Input, Cached, CacheWrite, Output int
}

// maxMeasured is how much of an answer, or of one event of it, is looked at. What is larger is not measured.
const maxMeasured = 4 << 20

// measure has the answer's usage told to the meter at its end.
func (p *proxy) measure(res *http.Response) {
	if p.meter == nil || res.StatusCode/100 != 2 || res.Body == nil {
		return
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "text/event-stream" {
		return
	}
	// Without a length the program knows the answer to be whole only after the meter was told.
	res.Header.Del("Content-Length")
	res.ContentLength = -1
	res.Body = &measured{ReadCloser: res.Body, proxy: p, events: kind == "text/event-stream"}
}

// measured is an answer's body on its way to the program.
type measured struct {
	io.ReadCloser
	proxy  *proxy
	events bool
	line   []byte // of events the current line, else all
	over   bool   // it is too large to be looked at
	used   Used
	told   bool
}

func (m *measured) Read(b []byte) (int, error) {
	n, err := m.ReadCloser.Read(b)
	m.take(b[:n])
	if err != nil {
		m.tell()
	}
	return n, err
}

// Close also tells: a program that leaves early has used what was said until then.
func (m *measured) Close() error {
	m.tell()
	return m.ReadCloser.Close()
}

func (m *measured) take(b []byte) {
	for len(b) > 0 {
		part, rest, ended := b, []byte(nil), false
		if m.events {
			part, rest, ended = bytes.Cut(b, []byte{'\n'})
		}
		if m.over = m.over || len(m.line)+len(part) > maxMeasured; !m.over {
			m.line = append(m.line, part...)
		}
		if ended {
			m.look()
		}
		b = rest
	}
}

// look reads the usage out of what was gathered, and starts anew.
func (m *measured) look() {
	text := bytes.TrimPrefix(bytes.TrimSpace(m.line), []byte("data:"))
	if !m.over && bytes.Contains(text, []byte(`"usage`)) {
		m.used.add(readUsed(text))
	}
	m.line, m.over = m.line[:0], false
}

func (m *measured) tell() {
	if m.told {
		return
	}
	m.told = true
	m.look()
	if m.used == (Used{}) {
		return
	}
	if err := m.proxy.meter(m.used); err != nil {
		m.proxy.stop(&StoppedError{Reason: err.Error()})
	}
}

// add takes what is larger: the events of one answer repeat and raise their counts.
func (u *Used) add(v Used) {
	if v.Model != "" {
		u.Model = v.Model
	}
	u.Input, u.Cached = max(u.Input, v.Input), max(u.Cached, v.Cached)
	u.CacheWrite, u.Output = max(u.CacheWrite, v.CacheWrite), max(u.Output, v.Output)
}

// usedBody is where the vendors say it: in the answer, or in the object that an event carries.
type usedBody struct {
	Model        string         `json:"model"`
	ModelVersion string         `json:"modelVersion"`
	Usage        jsontext.Value `json:"usage"`
	Metadata     jsontext.Value `json:"usageMetadata"`
	Response     *usedBody      `json:"response"`
	Message      *usedBody      `json:"message"`
}

// usedCounts are the vendors' names of the counts.
type usedCounts struct {
	Input         count `json:"input_tokens"`
	Output        count `json:"output_tokens"`
	CacheRead     count `json:"cache_read_input_tokens"`
	CacheCreation count `json:"cache_creation_input_tokens"`
	InputDetails  struct {
		Cached count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Prompt        count `json:"prompt_tokens"`
	Completion    count `json:"completion_tokens"`
	PromptDetails struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	PromptCount     count `json:"promptTokenCount"`
	CandidatesCount count `json:"candidatesTokenCount"`
	ThoughtsCount   count `json:"thoughtsTokenCount"`
	CachedCount     count `json:"cachedContentTokenCount"`
}

// count is a number of tokens; anything that is none counts as 0.
type count int

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(b []byte) error {
	var n float64
	if jsontext.Value(b).Kind() == '0' && json.Unmarshal(b, &n) == nil && n > 0 {
		*c = count(min(n, 1e12))
	}
	return nil
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readUsed reads the usage of an answer or event; what it does not say is 0.
func readUsed(text []byte) Used {
	var body usedBody
	if json.Unmarshal(text, &body, lenient) != nil {
		return Used{}
	}
	at := &body
	for _, inner := range []*usedBody{body.Response, body.Message} {
		if inner != nil {
			at = inner
		}
	}
	raw := at.Usage
	if len(raw) == 0 {
		raw = at.Metadata
	}
	if len(raw) == 0 {
		raw = body.Usage
	}
	var n usedCounts
	if len(raw) == 0 || json.Unmarshal(raw, &n, lenient) != nil {
		return Used{}
	}
	cached := max(n.CacheRead, n.InputDetails.Cached, n.PromptDetails.Cached, n.CachedCount)
	return Used{
		Model:  strings.TrimSpace(fmt.Sprintf("%.200s", at.Model+at.ModelVersion)),
		Input:  int(n.Input + n.CacheRead + n.CacheCreation + n.Prompt + n.PromptCount),
		Cached: int(cached), CacheWrite: int(n.CacheCreation),
		Output: int(n.Output + n.Completion + n.CandidatesCount + n.ThoughtsCount),
	}
}
