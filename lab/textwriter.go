package lab

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textWriter writes text that comes in pieces of any bytes as it comes: characters
// when they are whole, and what a terminal should not get, escaped.
type textWriter struct {
	w       io.Writer
	pending string // the beginning of a character
	last    rune
}

func (t *textWriter) write(bytes string) error {
	t.pending += bytes
	var out strings.Builder
	for t.pending != "" && utf8.FullRuneInString(t.pending) {
		t.put(&out)
	}
	_, err := io.WriteString(t.w, out.String())
	return err
}

// put takes one character, or a byte of none.
func (t *textWriter) put(out *strings.Builder) {
	r, size := utf8.DecodeRuneInString(t.pending)
	if piece := t.pending[:size]; r == utf8.RuneError && size == 1 || r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
		quoted := strconv.QuoteToASCII(piece)
		out.WriteString(quoted[1 : len(quoted)-1])
	} else {
		out.WriteString(piece)
	}
	t.pending, t.last = t.pending[size:], r
}

// end writes what is left, and ends the line.
func (t *textWriter) end() error {
	var out strings.Builder
	for t.pending != "" {
		t.put(&out)
	}
	if t.last != '\n' {
		out.WriteByte('\n')
	}
	_, err := io.WriteString(t.w, out.String())
	return err
}
