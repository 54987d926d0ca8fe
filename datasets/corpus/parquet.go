package corpus

import (
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// parquet reads one column; other columns stay on disk. A row's text is a
// document.
func (r *reader) parquet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return r.bad(0, "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r.bad(0, "%v", err)
	}
	p, err := parquet.OpenFile(f, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return r.bad(0, "no parquet file: %v", err)
	}
	name := r.corpus.options.Field
	column, ok := p.Schema().Lookup(name)
	if !ok {
		var names []string
		for _, field := range p.Schema().Fields() {
			names = append(names, field.Name())
		}
		return r.bad(0, "no column %s: has %s", name, strings.Join(names, ", "))
	}
	if kind := column.Node.Type().Kind(); kind != parquet.ByteArray || column.Node.Repeated() {
		return r.bad(0, "column %s holds %s: must be text", name, column.Node.Type())
	}
	if p.NumRows() == 0 {
		return r.bad(0, "no rows")
	}
	row := 0
	for _, group := range p.RowGroups() {
		if err := r.column(group.ColumnChunks()[column.ColumnIndex], &row); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) column(chunk parquet.ColumnChunk, row *int) error {
	pages := chunk.Pages()
	defer pages.Close()
	values := make([]parquet.Value, 256)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.damaged(*row, err)
		}
		for in := page.Values(); ; {
			n, err := in.ReadValues(values)
			for _, v := range values[:n] {
				*row++
				text := v.ByteArray()
				if v.IsNull() || len(text) == 0 {
					continue
				}
				if !utf8.Valid(text) {
					if err := r.bad(*row, "broken UTF-8 in this row"); err != nil {
						return err
					}
					continue
				}
				if err := r.emit(Piece{text, true}); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return r.damaged(*row, err)
			}
		}
		parquet.Release(page)
	}
}
