// Package ui holds what pages are drawn with: rows of exact width, joined without measuring again.
//
// # How a page draws
//
// A page renders into a [Block] of the size it is given; the root puts blocks into a [Frame]. A Block has a fixed
// width and every row that is added gets exactly that width, so a page can not break a frame. Text that did not
// come from this program goes through [Safe], [Quote], [Block.Say], [Block.Quote] or a [Cell], which make it
// safe; text that holds styles comes from [theme.Theme.S] and goes through [Block.Add], [Block.Spread],
// [Block.Field] or [Cell.Styled], which do not look inside.
//
// The example of the package draws a list and its detail beside each other, between a header and a footer. In
// short: a [List] is made once over a [Source]; [Columns] are laid out once per width and kept; each frame,
// Render builds blocks, [Beside] joins them, and the root puts them into a Frame, overlays last. What changes
// every second, such as a [Countdown], goes into a live [Cell], which is drawn apart from the cached row.
//
// Keys never reach a page raw: package action turns them into actions. Only fields, pickers, the help and the
// decision bar (package bar) take key messages. Nothing here reads a clock, blocks or starts a goroutine, and
// nothing is safe for concurrent use: it all belongs to the one goroutine of the program's loop.
package ui
