package term

import "os"

// Standard returns the input and output of the process. It is the one place of the interface that knows them.
func Standard() (in, out *os.File) { return os.Stdin, os.Stdout }
