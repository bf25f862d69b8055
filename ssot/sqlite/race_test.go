//go:build race

package sqlite

// slow is set where the race detector makes SQLite, which is all Go here, slower by an order of magnitude: the loops are shorter.
const slow = true
