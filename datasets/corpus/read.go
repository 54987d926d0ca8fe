package corpus

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
)

// errStop ends a reading early, without an error.
var errStop = errors.New("stop")

// Pieces reads the corpus from its start. An error is the last thing it yields,
// and names file and line.
func (c *Corpus) Pieces() iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		c.skipped = Skipped{}
		left, text := c.options.Limit, int64(0)
		emit := func(p Piece) error {
			if c.options.Limit > 0 && int64(len(p.Text)) >= left {
				p.Text, p.Last = whole(p.Text[:left]), true
				yield(p, nil)
				return errStop
			}
			left -= int64(len(p.Text))
			text += int64(len(p.Text))
			if !yield(p, nil) {
				return errStop
			}
			return nil
		}
		r := reader{corpus: c, emit: emit, buffer: make([]byte, 0, pieceSize)}
		for _, f := range c.files {
			if err := r.read(f); err == errStop {
				return
			} else if err != nil {
				yield(Piece{}, err)
				return
			}
		}
		if text == 0 {
			yield(Piece{}, fmt.Errorf("corpus %s: no text in it", c.Name))
		}
	}
}

// reader reads one file after the other.
type reader struct {
	corpus *Corpus
	emit   func(Piece) error
	name   string
	buffer []byte
}

func (r *reader) read(f file) error {
	path := f.name
	r.name = f.name
	if f.fetch != nil {
		var err error
		if path, err = f.fetch(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if strings.HasSuffix(f.name, ".parquet") {
		return r.parquet(path)
	}
	in, err := decompress(path, f.name)
	if err != nil {
		return r.bad(0, "%v", err)
	}
	defer in.Close()
	switch {
	case f.clean != nil:
		text, err := io.ReadAll(in)
		if err != nil {
			return r.damaged(0, err)
		}
		return r.document(f.clean(text), 0)
	case strings.Contains(filepath.Base(f.name), ".jsonl"):
		return r.jsonLines(in)
	}
	return r.text(in)
}

// bad is the fate of something unreadable: an error, or a count. Line 0 is the
// file as a whole.
func (r *reader) bad(line int, format string, args ...any) error {
	where := r.name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", r.name, line)
	}
	err := fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
	if !r.corpus.options.SkipBad {
		return err
	}
	s := &r.corpus.skipped
	if s.Count++; len(s.Named) < 20 {
		s.Named = append(s.Named, err.Error())
	}
	return nil
}

// damaged is bad for a stream that ends in an error after a line.
func (r *reader) damaged(line int, err error) error {
	what := "damaged"
	if errors.Is(err, io.ErrUnexpectedEOF) {
		what = "truncated"
	}
	return r.bad(line+1, "%s here: %v", what, err)
}
