package gitops

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// bounded reads a unified diff and keeps a part of it: so much of each file and so much in all. Every file keeps its header, and
// a line says what was cut of it.
type bounded struct {
	left, perFile int
	rest          string // where the whole is seen

	text strings.Builder
	full bool // there are more files than even headers have room for

	fileLeft int
	inFile   bool // the file's header is over
	cut      int  // bytes of the file that were left out
}

// maxHeaders bounds what the headers of files may add once the text is full.
const maxHeaders = MaxDiff / 2

var fileStarts = [][]byte{[]byte("diff --git "), []byte("diff --cc "), []byte("diff --combined ")}

// read takes a diff up to its end. It returns errCut when there is no room for anything more.
func (b *bounded) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	start := true
	for {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 && !b.take(piece, start) {
			return errCut
		}
		start = err == nil
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			b.closeFile()
			return nil
		case err != nil:
			b.closeFile()
			return err
		}
	}
}

// take keeps a line, or a part of a long one; start says that it begins a line. false means that all is full.
func (b *bounded) take(piece []byte, start bool) bool {
	if start {
		for _, s := range fileStarts {
			if bytes.HasPrefix(piece, s) {
				b.closeFile()
				b.fileLeft, b.inFile, b.cut = b.perFile, false, 0
				break
			}
		}
		if bytes.HasPrefix(piece, []byte("@@")) || bytes.HasPrefix(piece, []byte("Binary ")) {
			b.inFile = true
		}
	}
	if !b.inFile {
		if b.text.Len()+len(piece) > MaxDiff+maxHeaders {
			b.full = true
			fmt.Fprintf(&b.text, "… cut: the text of further files is not shown; %s\n", b.rest)
			return false
		}
		b.text.Write(piece)
		return true
	}
	room := min(b.fileLeft, b.left)
	if b.cut == 0 && len(piece) <= room {
		b.text.Write(piece)
		b.fileLeft, b.left = b.fileLeft-len(piece), b.left-len(piece)
		return true
	}
	if b.cut == 0 && !start { // a line that is longer than the room: its beginning is shown
		n := min(room, len(piece))
		for n > 0 && n < len(piece) && !utf8.RuneStart(piece[n]) {
			n--
		}
		b.text.Write(piece[:n])
		b.text.WriteByte('\n')
		piece = piece[n:]
	}
	b.cut += len(piece)
	b.fileLeft = 0
	return true
}

// closeFile says what was cut of a file.
func (b *bounded) closeFile() {
	if b.cut > 0 {
		fmt.Fprintf(&b.text, "… cut: %d more bytes of this file are not shown; %s\n", b.cut, b.rest)
		b.cut = 0
	}
}
