//go:build linux || darwin

package sandbox

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// snoop prints all that a program can learn of itself and of those around it.
func snoop() int {
	show := func(name string) {
		b, err := os.ReadFile(name)
		if err != nil {
			return
		}
		os.Stdout.WriteString("=== " + name + "\n")
		os.Stdout.Write(b)
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	all = append(all, "/proc/self", "/proc/"+strconv.Itoa(os.Getppid()))
	for _, dir := range all {
		for _, name := range []string{"environ", "cmdline", "maps", "mountinfo", "status"} {
			show(filepath.Join(dir, name))
		}
		fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, fd := range fds {
			target, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			os.Stdout.WriteString("fd " + target + "\n")
		}
	}
	for _, root := range []string{os.Getenv("HOME"), ".", "/tmp", "/run", "/dev/shm"} {
		_ = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			os.Stdout.WriteString("file " + name + "\n")
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil && info.Size() < 1<<20 {
					show(name)
				}
			}
			return nil
		})
	}
	return get(os.Getenv("MODEL_URL") + "/messages")
}

// get prints what stands at an address.
func get(url string) int {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
	res, err := client.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer res.Body.Close()
	io.Copy(os.Stdout, res.Body)
	if res.StatusCode != http.StatusOK {
		return 2
	}
	return 0
}
