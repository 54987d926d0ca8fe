package lab

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/datasets/corpus"
)

// measureCorpus prints what a text is made of.
func measureCorpus(_ context.Context, s *Session, args []string) error {
	field, limit, stats, skip := "text", "0", false, false
	words, err := readFlags(args, map[string]*string{"field": &field, "limit": &limit}, map[string]*bool{"stats": &stats, "skip-bad": &skip})
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%d paths: corpus takes one of a file, a folder, prose, gosrc or hf:OWNER/NAME", len(words))
	}
	megabytes, err := strconv.Atoi(limit)
	if err != nil || megabytes < 0 {
		return fmt.Errorf("--limit %s: must be a whole number of megabytes; 0 = all", limit)
	}
	c, err := corpus.Open(words[0], corpus.Options{Field: field, SkipBad: skip, Limit: int64(megabytes) * 1_000_000})
	if err != nil {
		return err
	}
	if !stats {
		_, err := fmt.Fprintf(s.Out, "%s: %d files; --stats reads and measures them\n", c.Name, c.Files())
		return err
	}
	m, err := corpus.Measure(c, true)
	if err != nil {
		return err
	}
	t := &table{header: []string{"", "", ""}}
	t.add("files", fmt.Sprint(m.Files), c.Note)
	t.add("documents", fmt.Sprint(m.Documents), "")
	t.add("bytes", fmt.Sprint(m.Bytes), "of text, UTF-8")
	t.add("distinct", fmt.Sprint(m.Distinct), "bytes that occur")
	t.add("H0", fmt.Sprintf("%.3f", m.H0), "bits/byte: entropy of a byte alone")
	t.add("H1", fmt.Sprintf("%.3f", m.H1), "bits/byte: of a byte after the one before it; a trained model must do better")
	t.add("gzip", fmt.Sprintf("%.3f", m.Gzip), "bits/byte: gzip -9; a good model does better")
	if skip {
		t.add("skipped", fmt.Sprint(m.Skipped.Count), "could not be read")
	}
	text := t.text()
	_, text, _ = strings.Cut(text, "\n") // the header is empty
	if _, err := io.WriteString(s.Out, text); err != nil {
		return err
	}
	for _, why := range m.Skipped.Named {
		if _, err := fmt.Fprintln(s.Out, "skipped", why); err != nil {
			return err
		}
	}
	if more := m.Skipped.Count - len(m.Skipped.Named); more > 0 {
		_, err = fmt.Fprintf(s.Out, "... and %d more\n", more)
	}
	return err
}
