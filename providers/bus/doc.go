// Package bus is the AgentMessage bus: agents that register themselves, a queue for each recipient, and delivery that outlives a restart.
//
// [Decode] reads a message and names every rule that it breaks. [Bus] takes messages in, writes each one to the journal before it
// answers, and hands them out in the order of their priority, over whatever transport opened a [Session]. What it keeps is the fold of its
// own facts in the journal ([State]); who is connected, and who was heard of when, is known only while it runs.
//
// [Agent] makes an agent on the bus an executor or a reviewer like any other: an AMP message crosses as a task_request, and what comes
// back becomes events and an outcome ([Request], reply.go). An agent on the bus has no authority: its answer is a proposal.
package bus
