// Package diffview shows a unified diff of git: files, hunks and lines, below each other or side by side, with the changed words
// marked and the unchanged lines highlighted. It knows nothing of where the diff comes from.
//
// What is parsed is hostile: nothing of it is drawn before it is safe, and no input makes the parser fail. A [Diff] never changes
// once it is parsed and may be read from any goroutine; a [View] belongs to one.
package diffview
