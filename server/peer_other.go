//go:build !linux

package server

import "net"

func credentials(*net.UnixConn) peer { return peer{} }

func below(int, int) bool { return false }

func marker(int, string) string { return "" }
