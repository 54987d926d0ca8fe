// Package corpus reads text from files, from what the Go toolchain brings
// along, and from Hugging Face, as a stream of documents whose memory does not
// grow with the corpus.
package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say how to read.
type Options struct {
	// Field is the field of a JSON line, or the column of a parquet file, that
	// holds the text; "" means text.
	Field string
	// SkipBad passes over what cannot be read, and counts it, instead of ending
	// with an error.
	SkipBad bool
	// Limit ends the corpus after so many bytes of text; 0 means no limit.
	Limit int64
}

// Piece is a part of a document, cut where a tokenizer would cut too. Text is
// valid UTF-8, and valid until the next piece is asked for.
type Piece struct {
	Text []byte
	Last bool // the document ends here
}

// Corpus is a sequence of documents.
type Corpus struct {
	Name string
	// Identity changes when the text may have changed: it is made of paths,
	// sizes and times, and of the options.
	Identity string
	// Note says what a reader of results must know about the text.
	Note    string
	files   []file
	options Options
	skipped Skipped
}

// Skipped counts what was passed over, and names the first of it.
type Skipped struct {
	Count int
	Named []string // at most 20 messages of the form FILE:LINE: why
}

// file is one file of a corpus. Its name tells its format.
type file struct {
	name  string
	fetch func() (path string, err error) // nil: name is the path
	clean func([]byte) []byte             // applied to the whole file
}

// Open finds a corpus: prose, gosrc, hf:OWNER/NAME[:config[:split]], or the path
// of a file or of a directory of files. Only the third downloads anything.
func Open(spec string, options Options) (*Corpus, error) {
	if options.Field == "" {
		options.Field = "text"
	}
	var c *Corpus
	var err error
	switch {
	case spec == "prose":
		c, err = prose()
	case spec == "gosrc":
		c, err = gosrc()
	case strings.HasPrefix(spec, "hf:"):
		c, err = hugging(strings.TrimPrefix(spec, "hf:"))
	default:
		c, err = local(spec)
	}
	if err != nil {
		return nil, fmt.Errorf("corpus %s: %w", spec, err)
	}
	c.Name, c.options = spec, options
	c.Identity += fmt.Sprintf("\n%s %v %d", options.Field, options.SkipBad, options.Limit)
	return c, nil
}

// formats are the endings of file names that can be read.
var formats = []string{".txt", ".txt.gz", ".txt.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"}

func readable(name string) bool {
	return slices.ContainsFunc(formats, func(f string) bool { return strings.HasSuffix(name, f) })
}

// local lists a file, or a directory's files in the order of their paths.
func local(path string) (*Corpus, error) {
	info, err := os.Stat(path)
	if err != nil {
		var missing *fs.PathError
		if errors.As(err, &missing) {
			err = missing.Err
		}
		return nil, err
	}
	c := &Corpus{}
	if !info.IsDir() {
		if !readable(path) {
			return nil, fmt.Errorf("unknown format: the name must end in %s", strings.Join(formats, ", "))
		}
		return c, c.add(path, info)
	}
	err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !readable(path) {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return c.add(path, info)
	})
	if err == nil && len(c.files) == 0 {
		err = fmt.Errorf("no file in it ends in %s", strings.Join(formats, ", "))
	}
	return c, err
}

func (c *Corpus) add(path string, info fs.FileInfo) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	c.files = append(c.files, file{name: path})
	c.Identity += fmt.Sprintf("%s %d %d\n", full, info.Size(), info.ModTime().UnixNano())
	return nil
}

// Files is the number of files.
func (c *Corpus) Files() int { return len(c.files) }

// Skipped tells what the last reading passed over.
func (c *Corpus) Skipped() Skipped { return c.skipped }
