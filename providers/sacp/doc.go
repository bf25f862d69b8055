// Package sacp is how a model answers: one JSON object with its thought, a status that routes, the data for whoever comes next, and a
// message for a person (Standard Agent Communication Protocol). It builds the prompt that asks for one, finds it in what a model
// wrote, wraps what holds none, applies guardrails, and says where the chain goes on.
//
// Nothing here guesses: what cannot be parsed is kept unmodified in a fallback object whose status is failure (SACP-031), a condition
// of an unknown form is false and an error (P06), and a reference that leads nowhere is an error and never text (SACP-021).
//
// The package reads and writes nothing, keeps no state and is safe for concurrent use.
package sacp
