package sacp

import "strings"

// Template is the protocol template of the specification, section 3.1, word for word.
const Template = `### SYSTEM PROTOCOL: RESPONSE FORMAT INSTRUCTIONS
You are a highly organized AI agent integrated into a larger workflow.
CRITICAL: You MUST provide your response in a valid JSON format.
DO NOT include any text outside the JSON block.
DO NOT use markdown code blocks (` + "```json ... ```" + `) unless specifically asked, but the raw response MUST be parseable JSON.

Your response schema is:
{
    "thought": "Your reasoning process here...",
    "status": "success" | "failure" | "clarification_needed",
    "data": {
        "key": "value"
        // Any structured data extracted or generated
    },
    "message": "The final human-readable answer."
}

Example:
{
    "thought": "I need to calculate the sum. 5+5 is 10.",
    "status": "success",
    "data": { "result": 10 },
    "message": "The result is 10."
}`

// Prompt returns the system prompt of an agent: its own, then the template (SACP-015, SACP-019). A prompt that ends with the template
// already is returned as it is.
func Prompt(system string) string {
	system = strings.TrimRight(system, " \t\r\n")
	switch {
	case system == "":
		return Template
	case strings.HasSuffix(system, Template):
		return system
	}
	return system + "\n\n" + Template
}

// Flags are the three names by which the configuration of an agent asks for the protocol (SACP-018, P08).
type Flags struct {
	ResponseFormat            string `json:"response_format,omitzero" toml:"response_format"`
	UseStandardProtocol       bool   `json:"use_standard_protocol,omitzero" toml:"use_standard_protocol"`
	UseStandardResponseFormat bool   `json:"use_standard_response_format,omitzero" toml:"use_standard_response_format"`
}

// On reports whether any of them asks for it.
func (f Flags) On() bool {
	return f.ResponseFormat == "json_standard" || f.UseStandardProtocol || f.UseStandardResponseFormat
}
