// Package postgres is the store of a team: the journal and its projections in a PostgreSQL schema, which several coordinators on
// several machines write.
//
// One row, head, holds the last seq and hash. A transaction that appends locks it first, so that entries have one order without
// gaps and each is chained to the one before, whoever wrote that. In each process one goroutine writes: it takes what producers
// queued, locks the head and reads what it does not know yet in one round trip, folds and chains in memory, and stores entries,
// projections and head in a second one that ends with COMMIT. While no other process writes, the second one alone does, and fails when the
// head or a lease is not what was taken for granted. When the connection breaks there, it connects again and looks
// whether its entries are stored before it sends anything anew.
//
// The projections are those of the SQLite store: the board and the tasks as JSON. NOTIFY once per transaction is a hint to the
// others that the journal has grown; they also look once a second.
//
// Searches have the index of package search in two tables, made by one coordinator at a time behind the journal ([Options.Index]). What it
// does not hold yet is looked through.
//
// Leases are rows of their own, timed by the clock of the database alone.
package postgres
