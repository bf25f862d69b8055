// Package command runs any program as an agent: one JSON object on standard input, JSON lines on standard output.
//
// The program is started in the turn's folder, with an environment without secrets, and reads one line that ends in a newline and
// is followed by the end of file:
//
//	{"protocol":"arbiter-command/1",
//	 "turn":{"id":…,"task_id":…,"role":"executor","epoch":1,"subtask_id":…},
//	 "message":{…},"context":[…],"dir":"/…","home":"/…","session":…}
//
// message is the AMP message to work on, a task_dispatch or a review_request, and context are the messages that it refers to,
// oldest first. For a planning turn message is null and context holds one object with the wish. subtask_id and session are there
// when there is one.
//
// It answers with one JSON object per line:
//
//	{"event":"ack","status":"accepted","echoed_acceptance_criteria":[…]}   or "refused" with a "reason"; at most once, before the final
//	{"event":"progress","text":"what it does"}                             a sign of life
//	{"event":"session","session":"…"}                                      what a later turn may continue
//	{"event":"escalation","payload":{…}}                                   an AMP escalation payload; a person is needed
//	{"event":"usage","tokens":1200,"cost_usd":0.01}                        added up over the turn
//	{"event":"final","payload":{…}}                                        the answer, exactly once
//	{"event":"question","text":"…"}                                        a question to the admin in its place; a later turn has the answer
//	{"event":"permission","id":"…","type":"run","command":"…"}             may it? type is run, write, read, fetch or tool
//
// Whoever may ask for permissions reads one line for each on standard input, which then stays open:
//
//	{"event":"decision","id":"…","allow":false,"reason":"…"}
//
// A whole AMP message on a line, known by its protocol_version, is a final answer too, or an escalation when that is its type.
// Unknown events are skipped; a line that is no JSON object counts as progress. The turn has ended well when the program has
// ended with exit code 0 after exactly one final answer. Everything it wrote goes to the turn's log.
package command
