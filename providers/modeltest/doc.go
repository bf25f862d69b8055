// Package modeltest is a scripted model for tests: an HTTP server on loopback that speaks the model APIs of the programs and adapters
// (Responses, chat completions, Messages, Gemini) and says what a script says, so that real programs run without a real model.
//
// The step that a request gets is found in the request itself, by the texts and call ids that the model gave earlier: retries, restarts
// and resumed sessions get the same answer, and a session that lost its history begins the script again. A request without tools is
// a side request of a program (a title, a routing question); it gets a fixed text and never moves a script, unless the script is Plain.
package modeltest
