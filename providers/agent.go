// Package providers is the contract of agents: whoever plans, executes or reviews. [Agent] has one method that runs one turn;
// the adapters live in the packages below, each passing the conformance suite of agenttest.
package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"arbiter/amp"
)

// Turn is what an agent is asked to do: one message, worked on in one folder.
type Turn struct {
	ID    string
	Task  amp.TaskID
	Role  amp.Role
	Epoch int
	// Dir is where the agent works: the task's worktree, the reviewer's disposable one, or for a planning turn the repository,
	// which a planner must not change.
	Dir string
	// Home is a folder of the task and role for the agent's own files; it outlives the turn.
	Home string
	// Work is the task's repository, branch and commits; of a planning turn those that it looks at.
	Work amp.Workspace
	// Message is the AMP message verbatim, task_dispatch or review_request. A planning turn has none: Context holds the wish.
	Message json.RawMessage
	// Context are the messages that Message refers to, verbatim, oldest first. Of a planning turn: one object
	// {"wish":…,"guidance":…,"plan":…,"repo":{…}}.
	Context []json.RawMessage
	// Env is added to the agent's environment, each NAME=value; later ones win. It carries no credentials.
	Env []string
	// Subtask is the subtask_id that an executor works on now.
	Subtask string
	// Session continues an earlier turn's session when the agent can.
	Session string
	// Reply is the admin's answer to the question that the last turn in this role ended with, nil when there was none.
	Reply  *amp.Reply
	Limits Limits
	// Refused is what was wrong with the answer of the last turn for this message, one sentence each; empty when that was none.
	Refused []string
	// Prompt, when it is not nil, is asked instead of Message, without any of the protocol's own words; Outcome.Text is the answer and
	// Outcome.Final stays empty. The steps of a planning chain are such turns.
	Prompt *Prompt
	// Chain are the bodies of the chain entries of the task's earlier planning turns, oldest first: a planning chain goes on where it was
	// held. Other agents have no use for them.
	Chain []json.RawMessage
	// Ask puts a request of the agent to the rules and then to the admin, and blocks until it is answered; silence means no. Nil
	// denies everything. Adapters stop the clocks of silence and total time while a request is open.
	Ask func(ctx context.Context, p Permission) Decision
	// Log receives the raw output, when it is not nil; the caller closes it.
	Log interface{ Write([]byte) (int, error) }
}

// Limits bound one turn. Zero fields take the adapter's defaults.
type Limits struct {
	// Silence is how long no output may come, Total how long the turn may take.
	Silence time.Duration
	Total   time.Duration
	// Grace is the time between asking the process to end and killing it.
	Grace time.Duration
	// Output is the most bytes of output that are read; more ends the turn.
	Output int64
}

// EventType is what an agent says while it works.
type EventType string

// The types of events.
const (
	// EventStarted: the process runs; PID is set.
	EventStarted EventType = "started"
	// EventAck: the agent took the message on, or refused it; Ack is set without AckFor, TaskID, By and AckedAt.
	EventAck EventType = "ack"
	// EventProgress: a sign of life with one line of text.
	EventProgress EventType = "progress"
	// EventEscalation: the agent cannot go on by itself; Payload is an AMP escalation payload or message.
	EventEscalation EventType = "escalation"
	// EventChain: a message of a planning chain; Payload is the body of a chain entry.
	EventChain EventType = "chain"
)

// Event is one thing that an agent said. Text and Payload are untrusted.
type Event struct {
	Type    EventType
	PID     int
	Text    string
	Session string
	Ack     *amp.Ack
	Payload json.RawMessage
}

// Outcome is how a turn ended well: with an answer that is still to be validated.
type Outcome struct {
	// Final is the answer: a whole AMP message, or the payload alone (a plan for a planning turn); the caller builds the message
	// around it on behalf of the role.
	Final json.RawMessage
	// Question is what the agent asks the admin instead of answering (SACP clarification_needed); Final is empty then, and the answer
	// goes on in the same session.
	Question string
	// Answer is the SACP object that the agent answered with, its thought included; empty when the agent does not answer in one.
	Answer json.RawMessage
	// Text is the model's last text as it came, when the turn had a Prompt.
	Text string
	// Exit is the exit code, when there was a process.
	Exit    *int
	Session string
	Usage
}

// Agent runs turns. It is safe for concurrent use.
type Agent interface {
	// Run runs one turn and blocks until it is over. It calls emit in order, from one goroutine at a time, and never after it
	// returned. When ctx ends, the agent is stopped. On return, whatever the reason, no process of the turn is left, or the error
	// is an [*UnprovenError]. A nil error means that the agent gave one final answer; what it says is not checked here.
	Run(ctx context.Context, turn Turn, emit func(Event)) (Outcome, error)
}

// Describer is what an agent can do besides when it knows itself.
type Describer interface {
	// Describe says how turns with these limits reach the agent and what that way promises. Name, Vendor and Roles are empty: they are
	// the configuration's. It promises nothing that only the program behind it could keep.
	Describe(l Limits) amp.AgentFacts
}

// Reaper is what an agent can do besides when its turns are processes of this machine.
type Reaper interface {
	// Reap ends every process that a turn left behind when the coordinator died; that none is there is no error. It returns an
	// [*UnprovenError] when some still run. It must not be called for a turn whose Run has not returned.
	Reap(ctx context.Context, turnID string) error
}

// Finder is what a [Reaper] can do besides when it sees the processes of this machine.
type Finder interface {
	// Left returns the ids of the turns of which processes run, in ascending order: of whatever coordinator, and also those that
	// some coordinator still has in hand.
	Left() ([]string, error)
}

// Failure is the class of a failed turn.
type Failure string

// The classes. The last six are troubles of the model behind the agent.
const (
	FailConfig  Failure = "config"  // the program is missing or cannot be started
	FailCrashed Failure = "crashed" // it ended with an error, or without a final answer
	FailSilent  Failure = "silent"  // no output for Limits.Silence
	FailTotal   Failure = "total"   // longer than Limits.Total
	FailOutput  Failure = "output"  // more output than Limits.Output, or a line that is no JSON where JSON is due
	FailKilled  Failure = "killed"  // ctx ended
	FailRefused Failure = "refused" // the agent refused the message, as its ack said, and gave no final answer
	FailAnswer  Failure = "answer"  // it ended well, but its answer is not what was asked for

	FailAuth       Failure = "auth"       // the key is missing, wrong or without the right
	FailQuota      Failure = "quota"      // the account has nothing left, or the agent's own cap is reached
	FailRate       Failure = "rate"       // too many requests; Retry says when again
	FailOverloaded Failure = "overloaded" // the service cannot serve now; Retry says when again
	FailTransport  Failure = "transport"  // the connection failed or was cut
	FailModel      Failure = "model"      // the service refused or failed the request in another way
)

// Pauses reports whether a failure of this class says nothing about the work: the turn is to be tried again later (rate, overloaded,
// transport) or when the admin has mended what is missing (auth, quota), and never counts as a failed attempt.
func (f Failure) Pauses() bool {
	switch f {
	case FailRate, FailOverloaded, FailTransport, FailAuth, FailQuota:
		return true
	case FailConfig, FailCrashed, FailSilent, FailTotal, FailOutput, FailKilled, FailRefused, FailAnswer, FailModel:
	}
	return false
}

// TurnError says why a turn gave no final answer.
type TurnError struct {
	Failure Failure
	// Text is one sentence for the admin; Tail the end of what the program wrote to standard error, untrusted.
	Text string
	Tail string
	Exit *int
	// Retry is how long to wait before the next try, when the service said so; 0 leaves it to the caller.
	Retry time.Duration
	// Usage is what the turn took all the same, all of it; an outcome beside the error may say it once more, see [Spent].
	Usage Usage
}

// Error is the class and the sentence.
func (e *TurnError) Error() string { return string(e.Failure) + ": " + e.Text }

// StoppedError is the cause of the end of a turn's context when it was decided that the turn is not wanted any more. A context that ends without
// it is that of a coordinator that ends, or lost the task.
type StoppedError struct{ Why string }

// Error is why.
func (e *StoppedError) Error() string { return e.Why }

// UnprovenError says that processes of a turn may still run: the suspension cannot be proven.
type UnprovenError struct {
	PIDs []int
	Err  error
}

// Error names the processes.
func (e *UnprovenError) Error() string {
	return fmt.Sprintf("processes %v may still run: %v", e.PIDs, e.Err)
}

// Unwrap is the turn's own error.
func (e *UnprovenError) Unwrap() error { return e.Err }
