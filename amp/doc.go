// Package amp is the vocabulary of Arbiter: the AMP/1.0 messages, the entries of the journal, the lifecycle of a task, and
// [Board], the pure fold of journal entries into state.
//
// The package is pure. It reads no clock, no file and no network; whatever depends on time takes now as an argument. Rules are
// named by their ids in the protocol's rule list (AMP-001 and so on); the decisions on its contradictions are A01 to A29.
package amp
