//go:build race

package tui

// raceDetector says that the tests run under it: it makes more values escape, so allocations are not counted then.
const raceDetector = true
