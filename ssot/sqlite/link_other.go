//go:build !unix

package sqlite

import "io/fs"

// names is how many names a file has. Here it cannot be told.
func names(fs.FileInfo) uint64 { return 1 }
