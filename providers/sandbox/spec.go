package sandbox

import "time"

// Spec is a program to start.
type Spec struct {
	// Argv is the program and its arguments. The program is an absolute path or a name to be found in PATH.
	Argv []string
	// Dir is the working folder. Home becomes HOME; it and its folder tmp, which becomes TMPDIR, are created when missing.
	Dir  string
	Home string
	// Turn is the id that marks the program and its descendants. It must not be empty nor contain ':' or NUL.
	Turn string
	// Stdin is what the program reads; after it comes the end of file. Without it the program reads nothing (the null device).
	Stdin []byte
	// Talk leaves standard input open behind Stdin, for [Process.Send] and [Process.CloseInput].
	Talk bool
	// Env are NAME=value pairs beside the allow-list; later ones win, also over the allow-list.
	Env []string
	// Pass names variables of this process to pass on, "NAME" or "PREFIX*". A pattern never matches a name that looks like a
	// secret; a full name does.
	Pass   []string
	Limits Limits
}

// Limits are resource limits of the program and each of its descendants. Zero fields leave the inherited limit.
type Limits struct {
	// CPU is computing time, in whole seconds; more ends the program.
	CPU time.Duration
	// FileSize is the most bytes that one file can be written to, rounded up to 512.
	FileSize int64
	// OpenFiles is the most file descriptors.
	OpenFiles int
	// Processes is the most processes and threads of a program in a cage of [Bubblewrap], 4096 when 0. Elsewhere it has no meaning, since
	// there the kernel counts all of the user; root is not bound by it.
	Processes int
}
