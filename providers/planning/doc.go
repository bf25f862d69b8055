// Package planning makes a plan of a wish by a chain of three agents in the Sentient format: the objective agent says what is to be reached,
// the goal agent takes each objective apart into goals, the planning agent makes the workflow (SEN-050, SEN-051).
//
// [Agent] is a [providers.Agent] for the coordinator's role. Every message is judged before it is forwarded, and said with
// [providers.EventChain] as it was received and as it was forwarded. A message with errors is not forwarded: the turn ends with a question to
// the admin, and the next turn goes on at that stage. Nothing is remembered between turns but what the journal holds.
package planning
