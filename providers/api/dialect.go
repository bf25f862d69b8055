package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"arbiter/providers"
)

// dialect is one API. Its methods hold no state.
type dialect interface {
	// home is the vendor's address, "" when there is none.
	home() string
	// path is what follows the address.
	path(base, model string) string
	sign(h http.Header, key string)
	// body is the request of a conversation.
	body(c *Config, talk *talk) any
	// read understands the body of an answer with status 200.
	read(body []byte) (reply, error)
}

var dialects = map[Dialect]dialect{Claude: claude{}, Gemini: gemini{}, Responses: responses{}, Chat: chat{}}

// talk is a conversation with a model; what was said begins and ends with the user, in turn.
type talk struct {
	system string
	said   []string
	// schema is what the answer is to follow, empty for none; exact is the same in the form that a strict service takes, empty when it
	// cannot be said so.
	schema json.RawMessage
	exact  json.RawMessage
}

// role is who says the i-th thing.
func (t *talk) role(i int, model string) string {
	if i%2 == 1 {
		return model
	}
	return "user"
}

// reply is an answer in the words of this package.
type reply struct {
	text string
	// finish is the service's word for why the answer ended, well whether that is a whole answer, refused whether the model or the
	// service would not give one.
	finish  string
	well    bool
	refused bool
	// failed is an error inside an answer that arrived well.
	failed *serviceError
	usage  providers.Usage
}

// serviceError is what the services say in an error, all in one.
type serviceError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a word or a number
	Status  string          `json:"status"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// readError finds the error in a body; an empty one when there is none in a known form.
func readError(body []byte) serviceError {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	var list []json.RawMessage // Gemini sometimes wraps it in a list
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var e serviceError
	if json.Unmarshal(body, &in) != nil {
		return e
	}
	if json.Unmarshal(in.Error, &e) != nil {
		json.Unmarshal(in.Error, &e.Message) //nolint:errcheck // neither an object nor a text: nothing is known
	}
	return e
}

// has reports whether the error's own words are one of these.
func (e *serviceError) has(words ...string) bool {
	code := strings.Trim(string(e.Code), `"`)
	for _, w := range words {
		if code == w || e.Type == w || e.Status == w {
			return true
		}
	}
	return false
}

// join puts a path behind an address that may hold the version already.
func join(base, version, path string) string {
	base = strings.TrimRight(base, "/")
	if strings.HasSuffix(base, version) {
		return base + path
	}
	return base + version + path
}

type object = map[string]any
