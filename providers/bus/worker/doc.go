// Package worker is an agent host on another machine than the coordinator: it offers agents of any adapter on an AgentMessage bus, gives each
// task a worktree in a clone of its own, and sends back what was committed there as a bundle.
//
// Everything that matters is on disk before it is acknowledged: a request before the bus believes that it was delivered, an answer with its
// commits before the turn counts as over. A worker that is killed runs what it was running again, from the same commit; an answer that nobody
// took yet is sent again; the same request, however often it comes, has one run and one answer.
package worker
