package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"arbiter/server"
)

// loadRig is the real program with its doors on loopback, in a process of its own whose memory can be measured.
type loadRig struct {
	testing.TB
	home, config, log string
	client            *server.Client // on the unix socket, as an admin's
	api, bus          string         // addresses
	tls               bool

	cmd    *exec.Cmd
	exited chan error
}

// serveLoad starts the program with further lines of configuration.
func serveLoad(t testing.TB, lines string) *loadRig {
	t.Helper()
	dir := t.TempDir()
	r := &loadRig{TB: t, home: filepath.Join(dir, "home"), config: filepath.Join(dir, "config.toml"), log: filepath.Join(dir, "log"), tls: strings.Contains(lines, "tls_cert")}
	r.client = server.NewClient(r.home, sentinels)
	if err := os.WriteFile(r.config, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() {
		if os.Getenv(loadProfile) != "" && r.client.Shutdown(context.Background()) == nil {
			err := <-r.exited
			r.exited <- err
		}
		r.kill()
		if t.Failed() {
			said, _ := os.ReadFile(r.log)
			t.Logf("the coordinator said:\n%s", said[max(0, len(said)-6000):])
		}
	})
	return r
}

// start runs the program and waits until it answers.
func (r *loadRig) start() {
	r.Helper()
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		r.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command(os.Args[0], "serve", "--home", r.home, "--config", r.config)
	r.cmd.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	cmd, exited := r.cmd, make(chan error, 1)
	r.exited = exited
	go func() { exited <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
	defer cancel()
	for {
		s, err := r.client.Status(ctx)
		if err == nil {
			r.api = s.Listen
			break
		}
		select {
		case err := <-exited:
			exited <- err
			r.Fatalf("the coordinator ended: %v", err)
		case <-ctx.Done():
			r.Fatalf("the coordinator does not answer: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if s, err := r.client.Bus(ctx); err == nil {
		r.bus = s.Listen
	}
}

// kill ends the program as a power cut does to it.
func (r *loadRig) kill() {
	_ = r.cmd.Process.Kill() // it may be gone
	err := <-r.exited
	r.exited <- err
}

// token makes a token and returns its secret.
func (r *loadRig) token(name string, scope server.Scope) string {
	r.Helper()
	made, err := r.client.NewToken(r.Context(), server.NewToken{Name: name, Scope: scope})
	if err != nil {
		r.Fatal(err)
	}
	return made.Secret
}

// resident is the memory of the program in bytes, 0 where the system does not say.
func (r *loadRig) resident() int64 { return r.statusOf("VmRSS:") }

// most is the most memory that it had.
func (r *loadRig) most() int64 { return r.statusOf("VmHWM:") }

func (r *loadRig) statusOf(field string) (n int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				r.Fatal(err)
			}
		}
	}
	return n << 10
}

// spent is the time of processors that the program took, 0 where the system does not say.
func (r *loadRig) spent() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond // Linux counts in hundredths of a second for programs
}

// watchAdmin asks for the status over the unix socket, once at least and until stop is called, which returns how often it was answered, and the
// longest time.
func (r *loadRig) watchAdmin() (stop func() (answers int, longest time.Duration)) {
	ctx, cancel := context.WithCancel(r.Context())
	var n int
	var longest time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		for n == 0 || ctx.Err() == nil {
			began := time.Now()
			if _, err := r.client.Status(r.Context()); err != nil {
				r.Errorf("the unix socket does not answer: %v", err)
				return
			}
			n, longest = n+1, max(longest, time.Since(began))
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return func() (int, time.Duration) {
		cancel()
		wg.Wait()
		return n, longest
	}
}

// hearing gets what a socket brings, up to a last message, in a goroutine of its own.
func (r *loadRig) hearing(to *websocket.Conn, last string) <-chan *heard {
	all := make(chan *heard, 1)
	go func() {
		h, err := hear(r.Context(), to, has(last))
		if err != nil {
			r.Error(err)
		}
		all <- h
	}()
	return all
}

// number is the value of a variable for a release, or usual.
func number(t testing.TB, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number", name, text)
	}
	return n
}

// ask sends one request over a connection of its own, with TLS where that is configured, and returns it with the answer's head read.
func (r *loadRig) ask(ctx context.Context, addr, request string) (net.Conn, *http.Response, error) {
	var d interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = &net.Dialer{}
	if r.tls {
		d = &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // its certificate is nobody's
	}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, request); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, res, nil
}

// patient asks again while it is told that it asks too often.
func (r *loadRig) patient(ctx context.Context, addr, request string) (net.Conn, *http.Response, error) {
	for {
		c, res, err := r.ask(ctx, addr, request)
		if err != nil || res.StatusCode != http.StatusTooManyRequests {
			return c, res, err
		}
		c.Close()
		wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil {
			return nil, nil, fmt.Errorf("429 with Retry-After %q", res.Header.Get("Retry-After"))
		}
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// certified writes a certificate for loopback, and returns the lines of a configuration that name it.
func certified(t testing.TB) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("tls_cert = %q\ntls_key = %q\n", cert, key)
}

// loadProfile is the variable that names a file for the profile of the program under load; it is then asked to end in place of being killed.
const loadProfile = "ARBITER_LOAD_PROFILE"

// profiled begins the profile of this process where one is asked for.
func profiled() (stop func()) {
	path := os.Getenv(loadProfile)
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		panic(err)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}
