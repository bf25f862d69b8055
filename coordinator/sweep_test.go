package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
)

// What comes to the remote of a task after it has ended and was tidied, from a machine that nobody sees again, is removed too, and what
// the machines here keep of it; what is of a task that goes on, or of nobody's, stays.
func TestClones_swept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newClones(t, 2, slowEdits, everybody(slowly(time.Minute, judges(amp.Approved, amp.Approved))))
		id, open := k.approved(0, 1), k.approved(1, 0)
		done := k.until(id, amp.StatusApproved)
		k.until(open, amp.StatusApproved)
		at := slices.IndexFunc(k.members, func(m *member) bool { return m.name == done.Owner })
		k.submit(amp.Command{Command: amp.Terminate, TaskID: id, Note: "not needed", Expects: &amp.Expects{Status: amp.StatusApproved}})
		of := func(task amp.TaskID) bool { return strings.Contains(k.left(), "/"+string(task)+"/") }
		for range 600 {
			synctest.Wait()
			if !of(id) {
				break
			}
			time.Sleep(time.Second)
		}
		if of(id) {
			t.Fatalf("at the remote is left %s", k.left())
		}
		stray := "refs/arbiter/tasks/T-1999-001/1/" + done.Commit
		for _, ref := range []string{"refs/arbiter/tasks/" + string(id) + "/99/" + done.Commit, "refs/arbiter/tasks/" + string(id) + "/99/checkpoint-1", stray} {
			person(t, k.dirs[at], "push", "-q", "origin", done.Commit+":"+ref)
		}
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if of(id) || !of(open) || !strings.Contains(k.left(), stray) {
			t.Errorf("at the remote is left %s; want what is of %s and %s, and nothing of %s", k.left(), open, stray, id)
		}
		k.check()
	})
}
