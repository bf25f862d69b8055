// Package scripted holds the agents of the demo: a planner, an executor and a reviewer that need no model, no key and no network.
//
// They are real programs. [Main] is one of them, started by providers/command like any other program: it reads the turn from
// standard input, edits files, runs git and the repository's own check, and reports what it found. What an executor does right
// or wrong is decided by the scenario that the planner writes into the plan's tech_constraints; what the reviewer says is decided
// by the diff, by the check and by inputs of its own.
//
// [Repository] makes the throw-away repository that they work in, [Scenarios] are the wishes for it and what is to come of each.
package scripted
