//go:build !linux && !darwin

package sqlite

// networkFS names the network file system that a directory is on. Here it cannot be told.
func networkFS(string) string { return "" }
