// Package agenttest is the test support for agents. [Run] is the conformance suite that every adapter passes; [Script] says what
// the program behind the adapter does, and [Main] lets the test binary be that program. [Fake] is an agent without processes for
// whoever uses agents.
package agenttest
