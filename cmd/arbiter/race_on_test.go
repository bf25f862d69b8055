//go:build race

package main

// raceDetector says that the tests run under it, where a program takes several times its memory.
const raceDetector = true
