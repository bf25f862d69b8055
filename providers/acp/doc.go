// Package acp runs any program that speaks the Agent Client Protocol over its standard streams as an agent: [Programs] are those that are known by
// name, and any other is given by its command line.
//
// The client offers neither files nor terminals: what the program does, it does itself, inside its leash, and asks for first. Executors ask the
// rules and the admin; whoever reviews or plans only reads, and is told so when it asks. What a known program finds in its configuration is
// written into the turn's home before every turn.
//
// The protocol has no word for a reason of a no. When a program ends its work because of one, it is told the reason in the same session and goes on.
package acp
