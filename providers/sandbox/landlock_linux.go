package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The versions of Landlock: below the first files elsewhere can be cut to nothing, from the second on TCP is bound to ports.
const (
	landlockFiles = 3
	landlockTCP   = 4
)

// devices are what a program may write to of /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// landlock is the command that runs argv after restricting itself.
func (c *Cage) landlock(spec *Spec, argv []string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that confines: %w", err)
	}
	shim := []string{self, ShimCommand, "-landlock"}
	if c.proxy != nil {
		shim = append(shim, "-connect", strconv.Itoa(c.proxy.port))
	}
	v := c.view(spec, argv, self)
	for _, f := range v.systemFolders() {
		shim = append(shim, "-read", f)
	}
	for _, f := range systemFiles {
		shim = append(shim, "-read", f)
	}
	for _, p := range v.paths() {
		if v.write[p] {
			shim = append(shim, "-write", p)
		} else {
			shim = append(shim, "-read", p)
		}
	}
	return append(append(shim, "--"), argv...), nil
}

// restrict confines this process and what it becomes, for ever. The caller has locked its thread, which goes on to execute the program.
func (s *shim) restrict() error {
	var rules []landlock.Rule
	add := func(path string, dirs, files func(...string) landlock.FSRule) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			rules = append(rules, dirs(path).IgnoreIfMissing())
		} else if err == nil {
			rules = append(rules, files(path).IgnoreIfMissing())
		}
	}
	writeDirs := func(p ...string) landlock.FSRule { return landlock.RWDirs(p...).WithRefer() }
	for _, p := range append([]string{"/proc", "/dev", "/sys/devices/system/cpu"}, s.read...) {
		add(p, landlock.RODirs, landlock.ROFiles)
	}
	for _, p := range devices {
		add(p, landlock.RODirs, func(p ...string) landlock.FSRule { return landlock.RWFiles(p...).WithIoctlDev() })
	}
	for _, p := range []string{"/dev/pts", "/dev/shm"} {
		add(p, func(p ...string) landlock.FSRule { return landlock.RWDirs(p...).WithIoctlDev() }, landlock.RWFiles)
	}
	for _, p := range s.write {
		add(p, writeDirs, landlock.RWFiles)
	}
	net := []landlock.Rule{landlock.BindTCP(0)}
	if s.connect > 0 {
		net = append(net, landlock.ConnectTCP(uint16(s.connect)))
	}
	// What the kernel does not know is left out, except that a kernel without Landlock is refused in front.
	if _, err := tryLandlock(); err != nil {
		return err
	}
	config := landlock.V11.BestEffort()
	if err := config.Restrict(append(rules, net...)...); err != nil {
		return err
	}
	return shed()
}

// tryLandlock asks the kernel.
var tryLandlock = sync.OnceValues(func() (string, error) {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case err != nil || abi < 1:
		return "", &MissingError{Mode: Landlock, Why: "this kernel has no Landlock, or it was not switched on at boot", Next: Install()}
	case abi < landlockFiles:
		return "", &MissingError{
			Mode: Landlock, Why: fmt.Sprintf("Landlock of this kernel (version %d) does not protect files from being cut; Linux 6.2 does", abi),
			Next: Install(),
		}
	case abi < landlockTCP:
		return fmt.Sprintf("Landlock version %d, which holds files but not the network; Linux 6.7 does", abi), nil
	}
	return fmt.Sprintf("Landlock version %d", abi), nil
})
