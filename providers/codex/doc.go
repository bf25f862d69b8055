// Package codex runs the program codex as an agent. [ModeServer] speaks to "codex app-server", which can ask for permission, continue a thread
// and be interrupted; [ModeExec] runs "codex exec --json", which denies by itself whatever it would have to ask for.
//
// Executors write in their folder and ask for more; whoever reviews or plans only reads. The configuration of the program is written into the
// turn's home before every turn, so that nothing of the person's own counts and nothing that an agent left there either.
package codex
