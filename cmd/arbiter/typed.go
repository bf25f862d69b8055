package main

import (
	"context"
	"io"
)

// typed is standard input for those who wait for it: a signal that ends the program ends their waiting too.
type typed struct {
	in    io.Reader
	ended <-chan struct{}
}

// Read is [context.Canceled] once the program is to end; what comes on standard input later is lost then.
func (t *typed) Read(p []byte) (int, error) {
	type got struct {
		n   int
		err error
	}
	read, own := make(chan got, 1), make([]byte, len(p)) // nobody waits for a read that was given up
	go func() {
		n, err := t.in.Read(own)
		read <- got{n, err}
	}()
	select {
	case g := <-read:
		copy(p, own[:g.n])
		return g.n, g.err
	case <-t.ended:
		return 0, context.Canceled
	}
}
