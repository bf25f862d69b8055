// Package sqlite is the default store: the journal and its projections in one SQLite file.
//
// One goroutine writes. It takes what producers queued, chains and inserts it in one transaction, folds it, and answers after COMMIT
// returned: what [Log.Append] acknowledged is on the disk (WAL, synchronous=FULL). Reads go through a pool of read-only connections and
// never wait for the writer.
//
// The tables beside the entries, projections and the tables of ids and tasks, are written for a thousand entries together, or when nothing
// was appended for a second, in one transaction: they always are those of one entry of the journal, which they name. The few entries
// behind it are looked through by who reads, and folded again by who opens the journal after a crash.
//
// Searches have the index of package search in a file of its own, search.db. A goroutine follows the journal and fills it; appends and
// opening never wait for it. What was appended since is looked through one by one. It is made anew when it is missing, damaged or of another
// journal.
//
// No other code of the process may open, read or copy journal.db, journal.db-wal and journal.db-shm: closing any descriptor of
// such a file drops the locks of the whole process, and a visitor may then remove the write-ahead log under a running writer.
// Open file description locks are switched on where the system has them, which covers the database file only. Copies are made by
// [Log.Backup] and [ssot.Export].
package sqlite
