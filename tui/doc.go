// Package tui is the admin's seat: screens over a [Session].
//
// The root model owns everything that is drawn. One pump follows the journal and hands batches of entries to it;
// the root folds them into its [amp.Board] with the coordinator's own fold, so a screen cannot disagree with it.
// Nothing else writes the board, and pages read it in the same goroutine: there are no locks.
//
// A key becomes an action, an action an intent, and the page gets the intent; see [page]. Update and View do no IO:
// what asks the session is a command, its answer comes back as a message to the page that asked. View returns a
// string that was drawn when something changed; between changes nothing is drawn and no timer runs.
//
// No decision is taken by this package alone: it submits commands with the state that the admin saw, and the
// coordinator refuses what is stale.
package tui
