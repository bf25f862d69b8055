package github

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"

	"arbiter/amp"
)

// The files of a mirror. Everything else in the repository belongs to others and is left alone.
const (
	entriesDir  = "entries"
	releasedDir = "released"
	tasksDir    = "tasks"
	headFile    = "head.json"
	readmeFile  = "README.md"
)

// ours are the names at the top of the repository that the mirror writes and nobody else may.
var ours = []string{entriesDir, headFile, releasedDir, tasksDir}

// seqPath is the path of a file that begins with an entry: no folder has more than a thousand rows for each thousand or million entries.
func seqPath(dir string, seq uint64, ext string) string {
	return fmt.Sprintf("%s/%06d/%03d/%012d%s", dir, seq/1_000_000, seq/1000%1000, seq, ext)
}

func segmentPath(first uint64) string { return seqPath(entriesDir, first, ".jsonl") }

func releasedPath(seq uint64) string { return seqPath(releasedDir, seq, ".json") }

var seqFile = regexp.MustCompile(`^(entries|released)/\d{6}/\d{3}/(\d{12})\.(?:jsonl|json)$`)

// seqFolder is a folder of the layout with files of entries.
var seqFolder = regexp.MustCompile(`^(entries|released)/\d{6}(/\d{3})?$`)

// seqOf is the entry that the file at a path begins with; 0 when the path is none of the layout.
func seqOf(path string) uint64 {
	m := seqFile.FindStringSubmatch(path)
	if m == nil {
		return 0
	}
	seq, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil || path != segmentPath(seq) && path != releasedPath(seq) {
		return 0
	}
	return seq
}

var taskForm = regexp.MustCompile(`^T-(\d{4})-(\d{3,9})$`)

// taskPath is the path of a task's file. An id of another form, which only a foreign agent can make up, is not used as a path.
func taskPath(id amp.TaskID) string {
	m := taskForm.FindStringSubmatch(string(id))
	if m == nil {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(id)))
		return tasksDir + "/other/" + sum[:2] + "/" + sum + ".json"
	}
	n, _ := strconv.Atoi(m[2])
	return fmt.Sprintf("%s/%s/%03d/%s.json", tasksDir, m[1], n/1000, id)
}
