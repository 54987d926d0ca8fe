package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

const (
	pieceSize = 1 << 20
	lineLimit = 1 << 28 // no JSON line is longer
)

// decompress opens a file, by the ending of its name.
func decompress(path, name string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, err
	}
	switch {
	case strings.HasSuffix(name, ".gz"):
		r, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<18))
		if err != nil {
			f.Close()
			if err == io.EOF {
				err = errors.New("empty file")
			}
			return nil, err
		}
		return stream{r, func() { r.Close(); f.Close() }}, nil
	case strings.HasSuffix(name, ".zst"):
		r, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			f.Close()
			return nil, err
		}
		return stream{r, func() { r.Close(); f.Close() }}, nil
	}
	return f, nil
}

type stream struct {
	io.Reader
	close func()
}

func (s stream) Close() error { s.close(); return nil }

var newline = []byte("\n")

// text reads a file as one document.
func (r *reader) text(in io.Reader) error {
	buffer := r.buffer[:0]
	line, first := 0, true // lines that ended before the buffer
	for {
		var err error
		for err == nil && len(buffer) < cap(buffer) {
			var n int
			n, err = in.Read(buffer[len(buffer):cap(buffer)])
			buffer = buffer[:len(buffer)+n]
		}
		if first {
			if err == io.EOF && len(buffer) == 0 {
				return r.bad(0, "empty file")
			}
			if mark := []byte("\ufeff"); bytes.HasPrefix(buffer, mark) {
				buffer = append(buffer[:0], buffer[len(mark):]...)
			}
			first = false
		}
		switch err {
		case io.EOF:
			return r.document(buffer, line)
		case nil:
		default:
			return r.damaged(line+bytes.Count(buffer, newline), err)
		}
		cut := border(buffer)
		text, err := r.valid(buffer[:cut], line)
		if err == nil {
			err = r.emit(Piece{Text: text})
		}
		if err != nil {
			return err
		}
		line += bytes.Count(buffer[:cut], newline)
		buffer = append(buffer[:0], buffer[cut:]...)
	}
}

// document emits the rest of a document, which begins after so many lines.
func (r *reader) document(text []byte, line int) error {
	text, err := r.valid(text, line)
	if err != nil {
		return err
	}
	return r.emit(Piece{text, true})
}

// valid checks text, or drops its bad lines.
func (r *reader) valid(text []byte, line int) ([]byte, error) {
	if utf8.Valid(text) {
		return text, nil
	}
	var good []byte
	for part := range bytes.Lines(text) {
		line++
		if utf8.Valid(part) {
			good = append(good, part...)
		} else if err := r.bad(line, "broken UTF-8 at byte %d of the line", brokenAt(part)+1); err != nil {
			return nil, err
		}
	}
	return good, nil
}

func brokenAt(line []byte) int {
	at := 0
	for at < len(line) {
		r, n := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// border is where a text may be cut without changing its tokens: after the last
// line end between two visible characters; failing that, between two runes.
func border(text []byte) int {
	for at := len(text) - 1; at > len(text)/2; at-- {
		if text[at-1] == '\n' && visible(text[:at-1]) && text[at] > ' ' && text[at] < utf8.RuneSelf {
			return at
		}
	}
	return len(whole(text))
}

func visible(text []byte) bool {
	last, _ := utf8.DecodeLastRune(text)
	return len(text) > 0 && !unicode.IsSpace(last)
}

// whole drops a rune that the end of text cuts in two.
func whole(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if start := text[len(text)-n]; utf8.RuneStart(start) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}
