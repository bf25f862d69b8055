//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// names is how many names a file has.
func names(st fs.FileInfo) uint64 {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(s.Nlink) //nolint:unconvert // its type differs between systems
}
