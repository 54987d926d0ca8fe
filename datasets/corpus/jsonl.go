package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// jsonLines reads a file of one JSON object, hence one document, a line.
func (r *reader) jsonLines(in io.Reader) error {
	lines := bufio.NewReaderSize(in, pieceSize)
	var long []byte
	for line := 1; ; line++ {
		text, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = long[:0]
			for err == bufio.ErrBufferFull && len(long) < lineLimit {
				long = append(long, text...)
				text, err = lines.ReadSlice('\n')
			}
			if err == bufio.ErrBufferFull {
				return r.bad(line, "the line is longer than %d bytes", lineLimit)
			}
			long = append(long, text...)
			text = long
		}
		if err != nil && err != io.EOF {
			return r.damaged(line-1, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			document, why := r.field(text)
			if why != "" {
				if err := r.bad(line, "%s", why); err != nil {
					return err
				}
			} else if document != "" {
				if err := r.emit(Piece{[]byte(document), true}); err != nil {
					return err
				}
			}
		} else if line == 1 && err == io.EOF {
			return r.bad(0, "empty file")
		}
		if err == io.EOF {
			return nil
		}
	}
}

// field takes the text out of a JSON line, or tells why it cannot.
func (r *reader) field(line []byte) (text, why string) {
	if !utf8.Valid(line) {
		return "", "broken UTF-8"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return "", "no JSON object: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	name := r.corpus.options.Field
	raw, ok := object[name]
	if !ok {
		return "", "no field " + name + ": has " + strings.Join(slices.Sorted(maps.Keys(object)), ", ")
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", "field " + name + " is no text"
	}
	return text, ""
}
