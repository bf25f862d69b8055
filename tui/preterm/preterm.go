// Package preterm keeps a program that merely links Bubble Tea from questioning the terminal.
//
// Bubble Tea v1 asks the terminal for its background colour in an init function and waits up to five seconds
// where nothing answers, for every command of the binary. The question is asked through lipgloss and only when
// nobody told lipgloss the answer, so this package tells it.
//
// It works because Go initialises packages that are ready in the order of their import paths, and "arbiter/…"
// sorts before "github.com/charmbracelet/bubbletea". For that reason this package imports lipgloss and nothing
// else, and every package of this module that imports Bubble Tea, or Bubbles, imports this one (a test parses
// the module for it). The real background is asked later, with a bound of 150 ms, by package term.
package preterm

import "github.com/charmbracelet/lipgloss"

// init is the one place of the module where an init function is right: no other moment lies before Bubble Tea's.
func init() { lipgloss.SetHasDarkBackground(true) }
