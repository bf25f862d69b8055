//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package term

// flush does nothing where no call is known that throws away what waits to be read; the delay of a question still holds.
func flush(uintptr) {}
