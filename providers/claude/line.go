package claude

import (
	"fmt"
	"math"
	"strings"
	"time"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// decode understands one line. It never fails: what is no event is text.
func decode(raw []byte) event {
	var top struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
	}
	if text, ok := program.Object(raw, &top); !ok {
		return said(isText, text)
	}
	var e event
	var err error
	switch top.Type {
	case "system":
		e, err = system(top.Subtype, raw)
	case "assistant", "user":
		e, err = message(raw)
	case "control_request", "control_cancel_request":
		e, err = request(top.Type, raw)
	case "control_response":
		e, err = reply(raw)
	case "rate_limit_event":
		e, err = limit(raw)
	case "result":
		e, err = end(raw)
	}
	if err != nil {
		return said(isText, program.Broken(top.Type, err))
	}
	return e
}

func said(k kind, text ...string) event {
	e := event{kind: k}
	for _, t := range text {
		if t != "" {
			e.text = append(e.text, t)
		}
	}
	return e
}

// system understands what claude says of itself.
func system(subtype string, raw []byte) (event, error) {
	var s struct {
		Session string         `json:"session_id"`
		Model   string         `json:"model"`
		Attempt program.Count  `json:"attempt"`
		Max     program.Count  `json:"max_retries"`
		Delay   program.Count  `json:"retry_delay_ms"`
		Status  jsontext.Value `json:"error_status"`
		Error   jsontext.Value `json:"error"`
	}
	err := program.Read(raw, &s)
	switch subtype {
	case "init":
		return event{kind: isInit, session: s.Session, model: s.Model}, err
	case "api_retry":
		why := strings.TrimSpace(plain(s.Status) + " " + plain(s.Error))
		wait := time.Duration(s.Delay) * time.Millisecond
		text := fmt.Sprintf("tries again in %s (%d of %d): %s", wait.Round(time.Millisecond), s.Attempt, s.Max, program.Short([]byte(why), shortText))
		return said(isSaid, text), err
	}
	return event{}, nil
}

// plain is a JSON text or number in words, "" of anything else.
func plain(v jsontext.Value) string {
	var s string
	if v.Kind() == '0' || v.Kind() == '"' && program.Read(v, &s) != nil {
		return string(v)
	}
	return s
}

// shortText is the most bytes of a command or a name in a line of progress.
const shortText = 300

// message understands what the model says and does, and what tools say to that.
func message(raw []byte) (event, error) {
	var m struct {
		Type    string `json:"type"`
		Message struct {
			Content jsontext.Value `json:"content"`
		} `json:"message"`
	}
	if err := program.Read(raw, &m); err != nil {
		return event{}, err
	}
	if m.Message.Content.Kind() != '[' {
		return event{}, nil
	}
	var blocks []struct {
		Type    string         `json:"type"`
		Text    string         `json:"text"`
		Name    string         `json:"name"`
		Input   jsontext.Value `json:"input"`
		Failed  bool           `json:"is_error"`
		Content jsontext.Value `json:"content"`
	}
	if err := program.Read(m.Message.Content, &blocks); err != nil {
		return event{}, err
	}
	e := event{kind: isSaid}
	add := func(text string) {
		if text != "" {
			e.text = append(e.text, text)
		}
	}
	for _, b := range blocks {
		switch {
		case m.Type == "assistant" && b.Type == "text":
			if t := program.Text([]byte(b.Text)); t != "" && t[0] != '{' {
				add(t)
			}
		case m.Type == "assistant" && b.Type == "tool_use":
			add(does(b.Name, b.Input))
		case b.Type == "tool_result" && b.Failed:
			var text string
			if program.Read(b.Content, &text) == nil {
				add("failed: " + program.Short([]byte(text), shortText))
			}
		}
	}
	return e, nil
}

// does is the line of progress of a call of a tool.
func does(name string, input []byte) string {
	p := permission(name, input)
	names := program.Short([]byte(strings.Join(p.Paths, ", ")), shortText)
	switch {
	case name == outputTool:
		return "" // the answer
	case p.Type == providers.PermitRun:
		return "runs " + program.Short([]byte(p.Command), shortText)
	case p.Type == providers.PermitWrite:
		return "changes " + names
	case p.Type == providers.PermitRead:
		return "reads " + names
	case p.Type == providers.PermitFetch:
		return "fetches " + names
	}
	return "calls " + program.Short([]byte(name), shortText)
}

// reply understands claude's answer to a request of ours.
func reply(raw []byte) (event, error) {
	var c struct {
		Response struct {
			ID      string         `json:"request_id"`
			Subtype string         `json:"subtype"`
			Error   jsontext.Value `json:"error"`
		} `json:"response"`
	}
	err := program.Read(raw, &c)
	e := event{kind: isReply, id: c.Response.ID}
	if c.Response.Subtype == "error" {
		e.problem = "refused: " + program.Short([]byte(plain(c.Response.Error)), shortText)
	}
	return e, err
}

// limit understands what claude says of the account's limits.
func limit(raw []byte) (event, error) {
	var l struct {
		Info struct {
			Status string         `json:"status"`
			Resets jsontext.Value `json:"resetsAt"`
		} `json:"rate_limit_info"`
	}
	if err := program.Read(raw, &l); err != nil || l.Info.Status != "rejected" {
		return event{}, err
	}
	e := event{kind: isLimit}
	var at float64
	if program.Read(l.Info.Resets, &at) == nil && at > 0 && at < math.MaxInt32*16 {
		e.reset = time.Unix(int64(at), 0)
	}
	return e, nil
}

// end understands the terminal event.
func end(raw []byte) (event, error) {
	type counts struct {
		Input  program.Count `json:"input_tokens"`
		Cached program.Count `json:"cache_read_input_tokens"`
		Write  program.Count `json:"cache_creation_input_tokens"`
		Output program.Count `json:"output_tokens"`
	}
	var r struct {
		Subtype string         `json:"subtype"`
		Failed  bool           `json:"is_error"`
		Status  jsontext.Value `json:"api_error_status"`
		Result  jsontext.Value `json:"result"`
		Errors  jsontext.Value `json:"errors"`
		Value   jsontext.Value `json:"structured_output"`
		Cost    float64        `json:"total_cost_usd"`
		Usage   counts         `json:"usage"`
		Denied  []struct {
			Tool string `json:"tool_name"`
		} `json:"permission_denials"`
	}
	if err := program.Read(raw, &r); err != nil {
		return event{}, err
	}
	e := event{kind: isResult, result: result{failed: r.Failed || r.Subtype != "success", subtype: r.Subtype}}
	if k := r.Value.Kind(); k != 'n' && len(r.Value) > 0 {
		e.result.value = r.Value
	}
	if program.Read(r.Result, &e.result.words) != nil {
		e.result.words = ""
	}
	var errs []string
	if program.Read(r.Errors, &errs) == nil && len(errs) > 0 {
		e.result.words = strings.TrimSpace(e.result.words + " " + strings.Join(errs, "; "))
	}
	if program.Read(r.Status, &e.result.status) != nil {
		e.result.status = 0
	}
	for _, d := range r.Denied {
		e.result.denied = append(e.result.denied, d.Tool)
	}
	u := r.Usage
	input := int(u.Input) + int(u.Cached) + int(u.Write)
	e.result.usage = providers.Usage{
		Input: input, Cached: int(u.Cached), CacheWrite: int(u.Write), Output: int(u.Output), Tokens: input + int(u.Output),
		CostUSD: max(r.Cost, 0),
	}
	return e, nil
}
