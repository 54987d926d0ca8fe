package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// config shows an experiment as a complete file, or in what two differ.
func config(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	switch {
	case len(rest) > 0 && rest[0] == "show":
		e, err := Parse(s.withoutPlace(rest[1:]))
		if err != nil {
			return s.blame(err, rest[1:])
		}
		text, err := e.TOML()
		if err != nil {
			return err
		}
		groups, err := e.groupComments()
		if err != nil {
			return err
		}
		_, err = io.WriteString(s.Out, text+groups)
		return err
	case len(rest) == 3 && rest[0] == "diff":
		a, err := configOf(out, rest[1])
		if err != nil {
			return err
		}
		b, err := configOf(out, rest[2])
		if err != nil {
			return err
		}
		d := configDiff(a, b)
		if len(d.rows) == 0 {
			_, err := fmt.Fprintln(s.Out, "no difference")
			return err
		}
		_, err = io.WriteString(s.Out, d.text())
		return err
	}
	return errors.New("expected config show [FILE.toml] [key=value...] or config diff A B, each a FILE.toml or a run")
}

// withoutPlace is withDefaults without the keys that say where.
func (s *Session) withoutPlace(words []string) []string {
	_, rest := s.place(s.withDefaults(words))
	return rest
}

// configOf is the complete configuration of a file or a run.
func configOf(root, word string) ([]KeyValue, error) {
	if st, err := os.Stat(word); isFile(word) && (err != nil || !st.IsDir()) {
		e, err := Parse([]string{word})
		if err != nil {
			return nil, err
		}
		return e.Complete(), nil
	}
	l, err := named(root, word)
	if err != nil {
		return nil, err
	}
	return l.r.Config, nil
}
