package codex

import (
	"strings"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// decode understands one line of the app-server. It never fails: what is no event is text.
func decode(raw []byte) event {
	var top struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  *struct {
			Code    jsontext.Value `json:"code"`
			Message string         `json:"message"`
		} `json:"error"`
	}
	if text, ok := program.Object(raw, &top); !ok {
		return event{kind: isText, text: text}
	}
	switch {
	case top.Method != "" && len(top.ID) > 0:
		return request(top.ID, top.Method, top.Params)
	case top.Method != "":
		return notice(top.Method, top.Params)
	case len(top.ID) == 0 || top.Result == nil && top.Error == nil:
		return event{kind: isUnknown}
	}
	e := event{kind: isReply}
	if program.Read(top.ID, &e.reply) != nil {
		return event{kind: isUnknown}
	}
	if top.Error != nil {
		e.trouble = &program.Trouble{Words: top.Error.Message}
		return e
	}
	var result struct {
		Model  string `json:"model"`
		Thread named  `json:"thread"`
		Turn   named  `json:"turn"`
	}
	if err := program.Read(top.Result, &result); err != nil {
		return broken("a reply", err)
	}
	e.model, e.thread, e.turn = result.Model, result.Thread.ID, result.Turn.ID
	return e
}

func broken(what string, err error) event {
	return event{kind: isText, text: program.Broken(what, err)}
}

type named struct {
	ID string `json:"id"`
}

// notice understands a notification.
func notice(method string, params []byte) event {
	var p struct {
		ThreadID   string         `json:"threadId"`
		TurnID     string         `json:"turnId"`
		RequestID  jsontext.Value `json:"requestId"`
		Message    string         `json:"message"`
		Summary    string         `json:"summary"`
		WillRetry  bool           `json:"willRetry"`
		Error      *turnError     `json:"error"`
		Item       rawItem        `json:"item"`
		TokenUsage struct {
			Total rawUsage `json:"total"`
			Last  rawUsage `json:"last"`
		} `json:"tokenUsage"`
		Turn struct {
			ID     string     `json:"id"`
			Status string     `json:"status"`
			Error  *turnError `json:"error"`
		} `json:"turn"`
	}
	known, ok := notices[method]
	if !ok {
		return event{kind: isUnknown}
	}
	if err := program.Read(params, &p); err != nil {
		return broken(method, err)
	}
	e := event{kind: known, thread: p.ThreadID, turn: p.TurnID}
	switch known {
	case isStarted, isItem:
		e.item = p.Item.item()
	case isUsage:
		e.total, e.last = p.TokenUsage.Total.usage(), p.TokenUsage.Last.usage()
	case isWarning:
		e.text = program.Text([]byte(p.Message + p.Summary))
	case isResolved:
		e.id = p.RequestID
	case isTurn:
		e.turn = p.Turn.ID
	case isRetry:
		e.trouble = p.Error.trouble()
		if !p.WillRetry {
			e.kind = isUnknown // the end of the turn says it again
		}
	case isEnd:
		e.turn, e.status, e.trouble = p.Turn.ID, p.Turn.Status, p.Turn.Error.trouble()
	default:
		panic("codex: unreachable notice " + string(known))
	}
	return e
}

// notices are the notifications that count.
var notices = map[string]kind{
	"item/started": isStarted, "item/completed": isItem, "thread/tokenUsage/updated": isUsage,
	"warning": isWarning, "configWarning": isWarning, "guardianWarning": isWarning, "deprecationNotice": isWarning,
	"serverRequest/resolved": isResolved, "turn/started": isTurn, "turn/completed": isEnd, "error": isRetry,
}

// rawUsage are token counts.
type rawUsage struct {
	Input      program.Count `json:"inputTokens"`
	Cached     program.Count `json:"cachedInputTokens"`
	CacheWrite program.Count `json:"cacheWriteInputTokens"`
	Output     program.Count `json:"outputTokens"`
}

func (u rawUsage) usage() usage {
	return usage{int(u.Input), int(u.Cached), int(u.CacheWrite), int(u.Output)}
}

// rawItem is an item of the app-server.
type rawItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Exit    *int   `json:"exitCode"`
	Status  string `json:"status"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Query   string `json:"query"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

func (r *rawItem) item() item {
	i := item{id: r.ID, status: r.Status, text: r.Text, command: r.Command, exit: r.Exit}
	switch r.Type {
	case "agentMessage", "agent_message":
		i.what = aMessage
	case "commandExecution", "command_execution":
		i.what = aCommand
	case "fileChange", "file_change":
		i.what = aChange
		for _, c := range r.Changes {
			i.paths = append(i.paths, c.Path)
		}
	case "mcpToolCall", "mcp_tool_call", "dynamicToolCall":
		i.what, i.text = aCall, program.Short([]byte(strings.Trim(r.Server+"."+r.Tool, ".")), shortText)
	case "webSearch", "web_search":
		i.what, i.text = aSearch, program.Short([]byte(r.Query), shortText)
	}
	return i
}

func join(paths []string) string { return strings.Join(paths, ", ") }

// turnError is why a turn failed, or is about to be tried again.
type turnError struct {
	Message string         `json:"message"`
	Details string         `json:"additionalDetails"`
	Info    jsontext.Value `json:"codexErrorInfo"`
}

// trouble is nil of nil. codex's own class counts, then the status, then the words.
func (t *turnError) trouble() *program.Trouble {
	if t == nil {
		return nil
	}
	out := &program.Trouble{Words: t.Message}
	if t.Details != "" && !strings.Contains(t.Message, t.Details) {
		out.Words += ": " + t.Details
	}
	var name string
	var parts map[string]struct {
		Status *int `json:"httpStatusCode"`
	}
	switch {
	case program.Read(t.Info, &name) == nil:
		out.Class = classes[name]
	case program.Read(t.Info, &parts) == nil:
		for name, part := range parts {
			if part.Status != nil {
				out.Status = *part.Status
			} else {
				out.Class = classes[name]
			}
		}
	}
	return out
}

// classes are those of codexErrorInfo that say more than the words.
var classes = map[string]providers.Failure{
	"unauthorized": providers.FailAuth, "usageLimitExceeded": providers.FailQuota, "sessionBudgetExceeded": providers.FailQuota,
	"rateLimitExceeded": providers.FailRate, "serverOverloaded": providers.FailOverloaded, "flexUnavailable": providers.FailOverloaded,
	"policyCapacityUnavailable": providers.FailOverloaded, "httpConnectionFailed": providers.FailTransport,
	"responseStreamConnectionFailed": providers.FailTransport, "responseStreamDisconnected": providers.FailTransport,
	"contextWindowExceeded": providers.FailModel, "modelNotFound": providers.FailModel, "cyberPolicy": providers.FailModel,
	"misalignmentPolicyViolation": providers.FailModel, "sandboxError": providers.FailConfig,
}
