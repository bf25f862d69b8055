// Package github mirrors a journal into a repository on GitHub: every entry, a file per task with its state, and the journal's head, as
// commits made through the Git Data API.
//
// A [Mirror] follows the journal with a cursor of its own, which is head.json at the head of the branch: what is on GitHub says how far it
// is, and nothing else does. It reads from the journal and is never waited for. Entries go out as segments, files that are written once and
// never again, so that the history of the repository proves that nothing was rewritten:
//
//	entries/000000/001/000000001234.jsonl   entries from 1234 on, one per line, in the form of an export
//	released/000000/001/000000001240.json   an entry that was withheld first
//	tasks/2026/000/T-2026-001.json          the state of a task
//	head.json                               the last entry's seq and hash
//
// Every text is looked through for secrets before it leaves the machine ([Scanner]). The hash of an entry covers its body, so an entry whose
// body is withheld is anchored by its hash and its place in the chain, and its content cannot be recomputed from the mirror alone.
//
// A [Clone] reads what plain git cloned, or a folder of files, and trusts none of it: [Compare] holds it against a journal.
package github
