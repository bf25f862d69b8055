// Package memory is what ended tasks teach the next planning (SEN-055): domain knowledge, operational heuristics, error prevention and quality
// benchmarks.
//
// A [Runner] looks at each task that ended, and at each planning chain that ended in an error. It learns from the journal's own facts, which needs no
// model: what was rejected, refuted, failed in CI or locked, and how many rounds work took. It cannot say why something happened, nor what a
// repository is about; for that a configured agent is asked, whose answer is one message in the Sentient format.
//
// A [Store] keeps the entries in one file that an admin can read, edit and delete. What one task alone taught is staged and reaches no
// planning; what is not used loses confidence with time.
package memory
