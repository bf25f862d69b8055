//go:build linux || darwin

package sandbox

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// systemFolders hold the programs and libraries of the machine; they are shown read-only where they are.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/run/current-system", "/snap",
}

// systemFiles are what programs need of /etc.
var systemFiles = []string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/fonts", "/etc/gitconfig", "/etc/group", "/etc/host.conf",
	"/etc/hosts", "/etc/inputrc", "/etc/java", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/locale.alias",
	"/etc/locale.conf", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/perl", "/etc/pki/ca-trust",
	"/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf", "/etc/static", "/etc/terminfo", "/etc/timezone",
}

// view is what a cage shows of the file system besides the system's own: paths, and whether they can be written to. Of a path and one
// below it the deeper one counts for what is below.
type view struct {
	write map[string]bool
	own   []string // folders that hold more than a program: one that contains any of them is never shown whole
}

// view is what programs of spec see. argv is the program with its path, extra what this package adds of its own.
func (c *Cage) view(spec *Spec, argv []string, extra ...string) *view {
	v := &view{write: map[string]bool{}, own: both(spec.Dir, spec.Home)}
	if home, err := os.UserHomeDir(); err == nil {
		v.own = append(v.own, both(home)...)
	}
	v.program(argv[0], 0)
	for _, p := range slices.Concat(c.leash.ReadOnly, extra) {
		v.show(p, false)
	}
	for _, p := range slices.Concat(c.leash.ReadWrite, []string{spec.Dir, spec.Home}) {
		v.show(p, true)
	}
	for _, p := range repository(spec.Dir) {
		v.show(p, false)
	}
	return v
}

// show adds a path, by its name and, when links are in it, by its real one too. What is not there is left out.
func (v *view) show(path string, write bool) {
	if !filepath.IsAbs(path) {
		return
	}
	for _, p := range both(path) {
		if _, err := os.Stat(p); err == nil && p != "/" && (write || !v.system(p)) {
			v.write[p] = write
		}
	}
}

// both are the clean path and the real one, when that is another.
func both(paths ...string) []string {
	var all []string
	for _, p := range paths {
		p = filepath.Clean(p)
		all = append(all, p)
		if real, err := filepath.EvalSymlinks(p); err == nil && real != p {
			all = append(all, real)
		}
	}
	return all
}

// paths are the shown paths, folders before what is in them.
func (v *view) paths() []string {
	all := make([]string, 0, len(v.write))
	for p := range v.write {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// wide reports whether a folder holds more than a program: the person's home, the turn's own folders, or one above them.
func (v *view) wide(folder string) bool {
	return folder == "/" || folder == os.TempDir() || slices.ContainsFunc(v.own, func(own string) bool { return own == folder || within(own, folder) })
}

// within reports whether a path is below a folder.
func within(path, folder string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// program shows what a program needs to run: its folder, or all of its node_modules or virtual environment, the folders of the links
// that lead to it, and its interpreter. In a folder that holds more than a program it is shown alone.
func (v *view) program(path string, depth int) {
	if depth > 16 {
		return
	}
	if !v.system(path) {
		folder := filepath.Dir(path)
		if at := strings.Index(path, "/node_modules/"); at >= 0 {
			folder = path[:at+len("/node_modules")]
		} else if _, err := os.Stat(filepath.Join(folder, "..", "pyvenv.cfg")); err == nil {
			folder = filepath.Dir(folder)
		}
		if v.wide(folder) {
			folder = path
		}
		v.show(folder, false)
	}
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		v.program(target, depth+1)
	} else if i := interpreter(path); i != "" {
		v.program(i, depth+1)
	}
}

// system reports whether a path is in a folder of the system that is shown.
func (v *view) system(path string) bool {
	return slices.ContainsFunc(v.systemFolders(), func(f string) bool { return within(path, f) })
}

// systemFolders are the folders of the system to show: those that are there and hold nothing of the person.
func (v *view) systemFolders() []string {
	return slices.DeleteFunc(slices.Clone(systemFolders), func(f string) bool {
		_, err := os.Lstat(f)
		return err != nil || v.wide(f)
	})
}

// interpreter is the program that a script names in its first line, "" when the file is no script.
func interpreter(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 512))
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 || filepath.Base(words[0]) != "env" {
		return strings.Join(words[:min(len(words), 1)], "")
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		found, _ := exec.LookPath(w)
		return found
	}
	return ""
}

// repository are the parts of a worktree that an agent reads but does not write: its .git, and the folder of the repository behind it.
// A .git file that does not belong to this worktree shows nothing: an earlier turn may have written it.
func repository(dir string) []string {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return nil
	}
	if info.IsDir() {
		return append(alternates(dot, 0), dot)
	}
	text, _ := firstLine(dot)
	admin, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok || !filepath.IsAbs(admin) {
		return []string{dot}
	}
	common := filepath.Dir(filepath.Dir(admin))
	named, _ := firstLine(filepath.Join(admin, "commondir"))
	back, _ := firstLine(filepath.Join(admin, "gitdir"))
	if filepath.Base(filepath.Dir(admin)) != "worktrees" || filepath.Join(admin, named) != common || !slices.Contains(both(dot), back) {
		return []string{dot}
	}
	for _, part := range []string{"objects", "refs", "HEAD"} {
		if _, err := os.Lstat(filepath.Join(common, part)); err != nil {
			return []string{dot}
		}
	}
	return append(alternates(common, 0), common, dot)
}

// alternates are the folders in which a repository looks for more objects.
func alternates(gitDir string, depth int) []string {
	objects := filepath.Join(gitDir, "objects")
	text, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if err != nil || depth > 5 {
		return nil
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		if filepath.Base(line) == "objects" {
			all = append(append(all, line), alternates(filepath.Dir(line), depth+1)...)
		}
	}
	return all
}

func firstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}
