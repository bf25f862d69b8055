//go:build linux

package sqlite

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// calls stands between SQLite and the system in a process of its own: it counts what SQLite asks of files, and lets the nth of that
// fail, or ends the process there. What fsync says does not come by here; strace has it, see TestSync.
type calls struct {
	mu    sync.Mutex
	armed bool
	n, at int
	fault fault
}

// fault is what becomes of a call.
type fault struct {
	errno syscall.Errno
	// half writes half of the bytes before; kill ends the process.
	half, kill bool
	// lasting is one that every later call that takes room meets too, until heal.
	lasting bool
}

var faults = map[string]fault{
	"eio":          {errno: syscall.EIO},
	"enospc":       {errno: syscall.ENOSPC},
	"enospc_short": {errno: syscall.ENOSPC, half: true, lasting: true},
	"enospc_stays": {errno: syscall.ENOSPC, lasting: true},
	"edquot_stays": {errno: syscall.EDQUOT, lasting: true},
	"kill":         {kill: true},
	"torn":         {kill: true, half: true},
}

// arm counts from here, and lets the call with this number meet the fault.
func (c *calls) arm(at int, f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.n, c.at, c.fault = true, 0, at, f
}

// heal ends a lasting fault; calls are counted on.
func (c *calls) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = 0
}

// disarm returns how many calls there were.
func (c *calls) disarm() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	return c.n
}

// meet counts a call and returns the fault that it meets. room says that the call may need space.
func (c *calls) meet(room bool) (f fault, met bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return f, false
	}
	c.n++
	met = c.at > 0 && (c.n == c.at || c.n > c.at && c.fault.lasting && room)
	if f = c.fault; met && !room && f.errno != syscall.EIO && !f.kill {
		c.at++ // the next one, which can be short of room
		return f, false
	}
	return f, met
}

func (f fault) die() {
	if f.kill {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// install replaces the calls of SQLite for the whole process.
func install() (*calls, error) {
	c := &calls{}
	tls := libc.NewTLS()
	defer tls.Close()
	fail := func(tls *libc.TLS, f fault) int {
		f.die()
		*at[int32](libc.X__errno_location(tls)) = int32(f.errno)
		return -1
	}
	pread := func(tls *libc.TLS, fd int32, buf uintptr, n libc.Tsize_t, off libc.Toff_t) libc.Tssize_t {
		if f, met := c.meet(false); met {
			return libc.Tssize_t(fail(tls, f))
		}
		return libc.Xpread(tls, fd, buf, n, off)
	}
	pwrite := func(tls *libc.TLS, fd int32, buf uintptr, n libc.Tsize_t, off libc.Toff_t) libc.Tssize_t {
		f, met := c.meet(true)
		if met && f.half && n > 1 {
			wrote := libc.Xpwrite(tls, fd, buf, n/2, off)
			f.die()
			return wrote // SQLite asks for the rest, which the lasting fault meets
		}
		if met {
			return libc.Tssize_t(fail(tls, f))
		}
		return libc.Xpwrite(tls, fd, buf, n, off)
	}
	truncate := func(tls *libc.TLS, fd int32, size libc.Toff_t) int32 {
		if f, met := c.meet(false); met { // a file that grows by this has a hole there
			return int32(fail(tls, f))
		}
		return libc.Xftruncate(tls, fd, size)
	}
	unlink := func(tls *libc.TLS, path uintptr) int32 {
		if f, met := c.meet(false); met {
			return int32(fail(tls, f))
		}
		return libc.Xunlink(tls, path)
	}
	vfs := at[lib.Tsqlite3_vfs](lib.Xsqlite3_vfs_find(tls, 0))
	set := *(*func(*libc.TLS, uintptr, uintptr, uintptr) int32)(unsafe.Pointer(&struct{ f uintptr }{vfs.FxSetSystemCall}))
	for name, f := range map[string]uintptr{
		"pread": pointer(pread), "pread64": pointer(pread), "pwrite": pointer(pwrite), "pwrite64": pointer(pwrite),
		"ftruncate": pointer(truncate), "unlink": pointer(unlink),
	} {
		c, err := libc.CString(name)
		if err != nil {
			return nil, err
		}
		if rc := set(tls, uintptr(unsafe.Pointer(vfs)), c, f); rc != lib.SQLITE_OK {
			return nil, fmt.Errorf("replace %s: %d", name, rc)
		}
	}
	return c, nil
}

// at is what stands at an address of the translated C, which no Go object has.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// kept holds the functions that SQLite has the address of.
var kept []any

// pointer is a function as the translated C knows it.
func pointer[F any](f F) uintptr {
	kept = append(kept, &f)
	return *(*uintptr)(unsafe.Pointer(&f))
}
