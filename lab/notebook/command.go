package notebook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var errUsage = errors.New("expected setup, check [FILE.ipynb...], run [FILE.ipynb...] [--timeout N] [--to FOLDER], or new NAME")

// Flags of the command, as text.
type Flags struct {
	To      string // folder for executed notebooks
	Timeout int    // seconds a cell may take
}

// Command carries out setup, check, run or new.
func Command(ctx context.Context, out io.Writer, words []string, flags Flags) error {
	if len(words) == 0 {
		return errUsage
	}
	verb, words := words[0], words[1:]
	if verb == "new" {
		if len(words) != 1 {
			return fmt.Errorf("new takes one name, not %d", len(words))
		}
		return create(out, words[0])
	}
	repo, err := repository()
	if err != nil {
		return err
	}
	if verb == "setup" {
		if len(words) > 0 {
			return fmt.Errorf("%q: setup takes no words", words[0])
		}
		return setup(ctx, out, repo)
	}
	if verb != "check" && verb != "run" {
		return fmt.Errorf("%q: %w", verb, errUsage)
	}
	paths, err := find(words, repo)
	if err != nil {
		return err
	}
	if verb == "check" {
		return check(ctx, out, repo, paths)
	}
	return run(ctx, out, repo, paths, flags.To, time.Duration(flags.Timeout)*time.Second)
}
