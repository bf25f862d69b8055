package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

const (
	socketName = "arbiter.sock"
	// recordName is the file in the data directory that says where the socket is, when it had no room there.
	recordName = "arbiter.sock.path"
	// maxSocketPath is the longest socket path that every system takes: 104 bytes with the final NUL on the BSDs, 108 on Linux.
	maxSocketPath = 103
)

// Listen opens the socket of the data directory home, which only the calling user can connect to. The caller holds the lock of
// the data directory, so a socket file that is there belongs to a dead coordinator and is replaced. The path of a unix socket is
// bounded; under a long home the socket lies in the user's runtime or temporary folder and home says where. Closing the listener
// removes the socket.
func Listen(home string) (net.Listener, error) {
	path := filepath.Join(home, socketName)
	record := filepath.Join(home, recordName)
	if len(path) > maxSocketPath {
		dir, err := runtimeDir()
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256([]byte(home))
		path = filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock")
		if len(path) > maxSocketPath {
			return nil, fmt.Errorf("open a socket: %s is longer than the %d bytes that a socket path may have", path, maxSocketPath)
		}
		if err := renameio.WriteFile(record, []byte(path+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("record the socket's path: %w", err)
		}
	} else if err := removeIfThere(record); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := listenPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("open the socket %s: %w", path, err)
	}
	return l, nil
}

// SocketPath is where the socket of the data directory home is, or would be; fs.ErrNotExist when only a coordinator can say that,
// and none has.
func SocketPath(home string) (string, error) {
	data, err := os.ReadFile(filepath.Join(home, recordName))
	if path := filepath.Join(home, socketName); errors.Is(err, fs.ErrNotExist) && len(path) <= maxSocketPath {
		return path, nil
	}
	if err != nil {
		return "", fmt.Errorf("find the socket: %w", err)
	}
	path := strings.TrimSpace(string(data))
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("find the socket: %s holds no absolute path", filepath.Join(home, recordName))
	}
	return path, nil
}

// removeStale removes the socket that a dead coordinator left, and nothing that is no socket.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return &OccupiedError{Path: path}
	}
	return removeIfThere(path)
}

// OccupiedError says that something that is no socket stands where a coordinator has its own.
type OccupiedError struct{ Path string }

// Error names the path.
func (e *OccupiedError) Error() string { return e.Path + " is there and is no socket" }

// Vacant reports, as an [*OccupiedError], that something that is no socket stands where the coordinator of home has its own.
func Vacant(home string) error {
	path, err := SocketPath(home)
	if err != nil {
		return nil //nolint:nilerr // it is made elsewhere
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return &OccupiedError{Path: path}
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what a former coordinator left: %w", err)
	}
	return nil
}

// listenPrivate binds under a mask that never lets others in, then sets the mode: on some systems the mask does not reach
// sockets. The mask belongs to the whole process, but its only effect on a file created meanwhile is a stricter mode.
func listenPrivate(path string) (net.Listener, error) {
	var lc net.ListenConfig
	old := syscall.Umask(0o077)
	l, err := lc.Listen(context.Background(), "unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// runtimeDir is a short folder that belongs to the user alone.
func runtimeDir() (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir != "" && len(dir) < 60 {
		dir = filepath.Join(dir, "arbiter")
	} else {
		dir = filepath.Join("/tmp", "arbiter-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create a folder for the socket: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at the folder for the socket: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the folder for the socket, %s, must belong to you alone (mode 0700)", dir)
	}
	return dir, nil
}
