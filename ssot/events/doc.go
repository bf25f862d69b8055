// Package events publishes the journal as typed events after the Berrys message contracts (EVT-001 to EVT-104), and judges such events
// that come in.
//
// An event is derived from an entry, never from a clock or a counter: publishing again gives the same ids (EVT-090, EVT-096), so that
// delivery may happen more than once and a receiver that skips known ids sees each event once. A [Deriver] needs the entries of one task
// only, at any position of the journal, which is why nothing is kept beside the journal but how far each receiver has come.
//
// An event that comes in is a fact about somebody else: it is judged, deduplicated and kept, and never an instruction.
package events
