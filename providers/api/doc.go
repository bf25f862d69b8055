// Package api runs turns of reviewers and planners against model APIs over HTTP: the Messages API of Anthropic, Gemini, the Responses API of
// OpenAI, and chat completions as DeepSeek and local servers speak them. There is no process and nothing of the turn is left behind.
//
// An API sees no folder, so the change, or a look at the repository, goes along in the prompt. What does not fit into the model's
// context goes in several requests, whose verdicts are merged; what cannot be sent at all is named, and no criterion passes then.
//
// The key goes into a header of the request and nowhere else. Where a service repeats it, it is taken out of the answer before
// anything else sees that.
package api
