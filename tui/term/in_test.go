package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func feed(k *Keys, s string, full bool) string {
	p := []byte(s)
	return string(p[:k.Translate(p, full)])
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain":                      {"jG", "jG"},
		"arrows":                     {"\x1b[A\x1b[1;5C\x1bOP", "\x1b[A\x1b[1;5C\x1bOP"},
		"lone esc":                   {"\x1b", "\x1b"},
		"alt+b":                      {"\x1bb", "\x1bb"},
		"alt+[":                      {"\x1b[", "\x1b["},
		"alt+]":                      {"\x1b]", "\x1b]"},
		"kitty capital":              {"\x1b[97;2u", "A"},
		"kitty capital, alternate":   {"\x1b[97:65;2u", "A"},
		"kitty shifted digit":        {"\x1b[49:33;2u", "!"},
		"kitty plain":                {"\x1b[97u", "a"},
		"kitty umlaut":               {"\x1b[228;2u", "Ä"},
		"kitty caps lock":            {"\x1b[97;65u", "A"},
		"kitty ctrl+d":               {"\x1b[100;5u", "\x04"},
		"kitty ctrl+shift+d":         {"\x1b[100;6u", "\x04"},
		"kitty alt+b":                {"\x1b[98;3u", "\x1bb"},
		"kitty esc":                  {"\x1b[27u", "\x1b"},
		"kitty enter":                {"\x1b[13u", "\r"},
		"kitty shift+enter":          {"\x1b[13;2u", "\n"},
		"kitty tab":                  {"\x1b[9u", "\t"},
		"kitty shift+tab":            {"\x1b[9;2u", "\x1b[Z"},
		"kitty backspace":            {"\x1b[127u", "\x7f"},
		"kitty ctrl+space":           {"\x1b[32;5u", "\x00"},
		"kitty release":              {"\x1b[97;1:3u", ""},
		"kitty repeat":               {"\x1b[97;1:2u", "a"},
		"kitty modifier alone":       {"\x1b[57441;2u", ""},
		"kitty keypad":               {"\x1b[57404u\x1b[57414u\x1b[57410u\x1b[57409u", "5\r/."},
		"kitty super+a is not a":     {"\x1b[97;9u", ""},
		"kitty ctrl+1 is not 1":      {"\x1b[49;5u", ""},
		"kitty text field":           {"\x1b[97;2;65u", "A"},
		"kitty up with press":        {"\x1b[1;1:1A", "\x1b[A"},
		"kitty ctrl+up released":     {"\x1b[1;5:3A", ""},
		"kitty ctrl+up pressed":      {"\x1b[1;5:1A", "\x1b[1;5A"},
		"kitty delete":               {"\x1b[3;1:1~", "\x1b[3~"},
		"modifyOtherKeys capital":    {"\x1b[27;2;65~", "A"},
		"modifyOtherKeys ctrl+enter": {"\x1b[27;5;13~", "\r"},
		"modifyOtherKeys alt+x":      {"\x1b[27;3;120~", "\x1bx"},
		"between keys":               {"a\x1b[98;2uc", "aBc"},
		"late OSC 11":                {"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\j", "j"},
		"late OSC 11 with BEL":       {"\x1b]11;rgb:1e1e/1e1e/2e2e\x07j", "j"},
		"late attributes":            {"\x1b[?62;22cj", "j"},
		"late cursor position":       {"\x1b[12;40Rj", "j"},
		"F3 is no position":          {"\x1b[1;2R", "\x1b[1;2R"},
		"DCS":                        {"\x1bP>|xterm\x1b\\j", "j"},
		"keyboard flags":             {"\x1b[?0uj", "j"},
		"mouse":                      {"\x1b[<0;3;4M", "\x1b[<0;3;4M"},
		"old mouse":                  {"\x1b[M !!j", "\x1b[M !!j"},
		"focus":                      {"\x1b[I\x1b[O", "\x1b[I\x1b[O"},
		"paste is not translated":    {"\x1b[200~\x1b[97;2u\x1b]0;x\x07\x1b[201~\x1b[97;2u", "\x1b[200~\x1b[97;2u\x1b]0;x\x07\x1b[201~A"},
		"broken code":                {"\x1b[99999999999;2u", ""},
		"surrogate":                  {"\x1b[55296u", ""},
		"control code":               {"\x1b[7u", ""},
		"invalid bytes":              {"a\xff\xfeb", "a\xff\xfeb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := feed(&Keys{}, tc.in, false); got != tc.want {
				t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

// TestKeys_cut: a full buffer may end inside of a sequence, of a rune or of the end of a paste.
func TestKeys_cut(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"ab\x1b[97;2ucd", "x漢y", "\x1b[200~pasted \x1b[97;2u\x1b[201~\x1b[98;2u", "\x1b]11;rgb:1/2/3\x1b\\j", "\x1b[<0;3;4M", "\x1b[1;5:1A",
	} {
		want := feed(&Keys{}, in, false)
		for at := 1; at < len(in); at++ {
			k := &Keys{}
			got := feed(k, in[:at], true)
			got += feed(k, string(k.take())+in[at:], false)
			if got != want {
				t.Errorf("%q cut at %d became %q, want %q", in, at, got, want)
			}
		}
	}
}

// A paste of megabytes is passed on as far as it is of use, wherever its pieces and its end are cut, and keys behind it are keys.
func TestKeys_longPaste(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word \x1b[97;2u\n", 1<<17)
	for _, size := range []int{250, 253, 256} { // where the end is cut differs
		for _, full := range []bool{false, true} {
			k, got := &Keys{}, strings.Builder{}
			for rest := pasteBegin + text + pasteEnd + "\x1b[97;2u"; rest != ""; {
				n := min(size, len(rest))
				got.WriteString(feed(k, string(k.take())+rest[:n], full && n < len(rest)))
				rest = rest[n:]
			}
			if want := pasteBegin + text[:maxPaste] + pasteEnd + "A"; got.String() != want {
				t.Errorf("pieces of %d, full %v: %d bytes became %d, want %d", size, full, len(text), got.Len(), len(want))
			}
		}
	}
}

// take returns what is held, as In.Read does.
func (k *Keys) take() []byte {
	h := append([]byte(nil), k.held...)
	k.held = k.held[:0]
	return h
}

func TestIn_read(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in := NewIn(r)
	if in.Fd() != r.Fd() {
		t.Error("the descriptor is hidden")
	}
	input := "\x1b[97;2u" + strings.Repeat("j", 251) + "\x1b[98;2uend"
	if _, err := w.WriteString(input); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var got bytes.Buffer
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if want := "A" + strings.Repeat("j", 251) + "Bend"; got.String() != want {
		t.Errorf("read %q, want %q", got.String(), want)
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"j", "\x1b[97;2u", "\x1b[200~x\x1b[201~", "\x1b]11;rgb:0/0/0\x07", "\x1b[27;2;65~", "\x1b[1;5:3A", "\x1bP\x1b\\", "漢"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		if len(s) == 0 || len(s) > 64 {
			return
		}
		whole := feed(&Keys{}, s, false)
		if len(whole) > len(s) {
			t.Errorf("%q grew to %q", s, whole)
		}
		if at <= 0 || at >= len(s) {
			return
		}
		k := &Keys{}
		got := feed(k, s[:at], true)
		got += feed(k, string(k.take())+s[at:], false)
		if got != whole {
			t.Errorf("%q cut at %d became %q, whole %q", s, at, got, whole)
		}
	})
}
