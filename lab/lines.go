package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// lineReader gives the lines of a terminal, a pipe, a script or an argument.
// Next returns io.EOF at the end, errDropped for a line that was given up
// (Ctrl-C), and errLeave where the user wants out at once.
type lineReader interface {
	Next() (string, error)
	Interactive() bool // an error is shown and the next line read
	Close() error
}

var (
	errQuit    = errors.New("quit")                 // ends the session, in order
	errLeave   = errors.New("interrupted")          // ends the session, with status 130
	errDropped = errors.New("the line was dropped") // by Ctrl-C
)

// longestLine bounds the memory that a line from a pipe can take.
const longestLine = 16 << 20

// plainReader reads lines as they are; on a terminal without escapes it
// prompts.
type plainReader struct {
	scan        *bufio.Scanner
	prompt      io.Writer // nil: none
	closer      io.Closer // nil: nothing to close
	interactive bool
}

func newPlainReader(r io.Reader) *plainReader {
	p := &plainReader{scan: bufio.NewScanner(r)}
	p.scan.Buffer(nil, longestLine)
	p.closer, _ = r.(io.Closer)
	return p
}

func (p *plainReader) Next() (string, error) {
	if p.prompt != nil {
		io.WriteString(p.prompt, prompt)
	}
	if p.scan.Scan() {
		return p.scan.Text(), nil
	}
	err := p.scan.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return "", fmt.Errorf("the line is longer than %d MB", longestLine>>20)
	case err != nil:
		return "", err
	}
	return "", io.EOF
}

func (p *plainReader) Interactive() bool { return p.interactive }

func (p *plainReader) Close() error {
	if p.closer == nil || p.closer == os.Stdin {
		return nil
	}
	return p.closer.Close()
}

// runLines runs line after line. Errors name the place, name:line. Without a
// user to see it the first error ends the loop, or with keepGoing fails it at
// the end; an interrupt always ends it.
func (s *Session) runLines(ctx context.Context, r lineReader, name string) error {
	failures := 0
	for n := 1; ; n++ {
		first := n
		text, err := r.Next()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		commands, more, bad := splitLine(text)
		for more && err == nil {
			var next string
			n++
			continued(r, true)
			if next, err = r.Next(); err == nil {
				text = text[:len(text)-1] + next
				commands, more, bad = splitLine(text)
			}
		}
		continued(r, false)
		if errors.Is(err, errDropped) {
			continue
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			if errors.Is(err, errLeave) {
				return err
			}
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if bad != nil {
			commands, err = nil, s.fail(r, name, first, bad, &failures)
			if err != nil {
				return err
			}
		}
		for _, words := range commands {
			if len(words) == 0 {
				continue
			}
			err := s.perform(ctx, texts(words))
			switch {
			case err == nil:
				continue
			case errors.Is(err, errQuit):
				return err
			case !r.Interactive() && (ctx.Err() != nil || errors.Is(err, errLeave)):
				return fmt.Errorf("%s:%d: %w", name, first, err)
			}
			if err := s.fail(r, name, first, err, &failures); err != nil {
				return err
			}
			if !s.keepGoing {
				break // the rest of the line may build on what failed
			}
		}
		if ended && failures > 0 {
			return errFailed
		}
		if ended {
			return nil
		}
	}
}

// fail shows an error and counts it, or returns it where it is the end.
func (s *Session) fail(r lineReader, name string, line int, err error, failures *int) error {
	switch {
	case r.Interactive():
		if !errors.Is(err, errFailed) {
			s.note(err.Error())
		}
	case !s.keepGoing:
		return fmt.Errorf("%s:%d: %w", name, line, err)
	default:
		s.note(fmt.Sprintf("%s:%d: %v", name, line, err))
		*failures++
	}
	return nil
}

// continued tells a reader that prompts whether its next line continues one.
func continued(r lineReader, yes bool) {
	if p, ok := r.(interface{ continued(bool) }); ok {
		p.continued(yes)
	}
}

// source runs a file's lines in this session.
func source(ctx context.Context, s *Session, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d words: source takes one file", len(args))
	}
	if s.depth > 16 {
		return fmt.Errorf("%s: files that source each other more than 16 deep", args[0])
	}
	f, err := os.Open(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], cause(err))
	}
	r := newPlainReader(f)
	defer r.Close()
	return s.runLines(ctx, r, args[0])
}

func quit(_ context.Context, _ *Session, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: quit takes no words", args[0])
	}
	return errQuit
}
