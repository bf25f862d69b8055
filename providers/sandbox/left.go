package sandbox

import "fmt"

// LeftError says that processes of a turn are still there although they were killed, or that nobody could look.
type LeftError struct {
	Turn string
	// PIDs are the processes that are known, ascending.
	PIDs []int
	// Err is why the processes of this machine could not be looked at, nil when they could.
	Err error
}

// Error names the processes and what to do.
func (e *LeftError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("whether processes of turn %s are left cannot be seen (known are %v): %v", e.Turn, e.PIDs, e.Err)
	}
	return fmt.Sprintf("processes %v of turn %s did not end when they were killed: they belong to another user or hang in the kernel; end them by hand", e.PIDs, e.Turn)
}

// Unwrap is why the processes could not be looked at.
func (e *LeftError) Unwrap() error { return e.Err }
