package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"

	"arbiter/server"
)

// listenConfig is where the client API listens besides the socket.
type listenConfig struct {
	// TCP is host:port, empty for none. A host that is no loopback address needs TLSCert and TLSKey, PEM files beside config.toml.
	TCP     string `toml:"tcp"`
	TLSCert string `toml:"tls_cert"`
	TLSKey  string `toml:"tls_key"`
	// MaxConnections is how many are open at once; 0 is 1,024.
	MaxConnections int `toml:"max_connections"`
}

func (l listenConfig) validate(bad func(string, ...any)) {
	if l.TCP == "" && (l.TLSCert != "" || l.TLSKey != "" || l.MaxConnections != 0) {
		bad("listen: tls_cert, tls_key and max_connections have no meaning without tcp")
	}
	if _, _, err := net.SplitHostPort(l.TCP); l.TCP != "" && err != nil {
		bad("listen.tcp is %q, want host:port as 127.0.0.1:7700", l.TCP)
	}
	if (l.TLSCert == "") != (l.TLSKey == "") {
		bad("listen: tls_cert and tls_key belong together")
	}
	if l.MaxConnections < 0 {
		bad("listen.max_connections is negative")
	}
}

// open opens the configured address; the listener is nil when there is none. hosts reports by which names requests may call it.
func (l listenConfig) open(ctx context.Context, configDir string) (_ net.Listener, hosts func(string) bool, err error) {
	if l.TCP == "" {
		return nil, nil, nil
	}
	in := func(file string) string {
		if file == "" || filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(configDir, file)
	}
	tcp := server.TCP{Addr: l.TCP, Cert: in(l.TLSCert), Key: in(l.TLSKey), MaxConns: l.MaxConnections}
	open, err := server.ListenTCP(ctx, tcp)
	if errors.Is(err, server.ErrPlain) {
		return nil, nil, &usageError{
			what:  "listen.tcp is " + l.TCP + ", which other machines reach, but there is no tls_cert",
			means: "Tokens and everything that agents do would cross the network in the clear. The coordinator was not started.",
			next:  "Set tls_cert and tls_key under [listen], or listen on 127.0.0.1.",
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if hosts, err = tcp.Hosts(); err != nil {
		return nil, nil, errors.Join(err, open.Close())
	}
	return open, hosts, nil
}
