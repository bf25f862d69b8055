// Package claude runs the program claude (Claude Code) as an agent, with JSON lines both ways: it asks for permission, continues sessions and
// can be interrupted.
//
// Executors edit in their folder and ask for the rest; whoever reviews or plans has only the tools that read. No settings of the person's or of
// the repository count: they could hold hooks and permissions that nobody here decided.
package claude
