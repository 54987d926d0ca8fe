package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resumeRuns continues runs that were stopped or killed.
func resumeRuns(ctx context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	if len(rest) == 0 {
		return errors.New("expected runs: resume RUN...")
	}
	var runs []listedRun
	for _, w := range rest {
		l, err := named(out, w)
		if err != nil {
			return err
		}
		runs = append(runs, l)
	}
	for _, l := range runs {
		line := newProgressLine(s.Err, 1, max(1, l.steps()))
		line.start(l.id)
		r, err := s.Resume(ctx, l.dir, line.step)
		line.clear()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "%s  %s\n", l.dir, summary(r)); err != nil {
			return err
		}
	}
	return nil
}

// removeRuns deletes runs and ablations, none if one cannot be.
func removeRuns(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	var yes bool
	words, err := readFlags(rest, nil, map[string]*bool{"yes": &yes})
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("expected runs: rm RUN... --yes")
	}
	var dirs []string
	for _, w := range words {
		dir, err := findAblation(out, w)
		if err != nil {
			dir, err = findRun(out, w)
		}
		if err != nil {
			return err
		}
		dirs = append(dirs, dir)
	}
	if !yes {
		return fmt.Errorf("this would remove %s for good: say --yes", strings.Join(dirs, ", "))
	}
	for _, dir := range dirs {
		runs, err := listRuns(dir)
		if err != nil {
			return err
		}
		for _, l := range runs {
			if locked(l.dir) {
				return fmt.Errorf("%s is %w", l.dir, errInUse)
			}
		}
		unlock, err := lockFolder(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(dir), unlock()); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "removed %s\n", dir); err != nil {
			return err
		}
	}
	return nil
}

// openAblation reads the ablation that a word names.
func openAblation(root, word string) (*Ablation, error) {
	dir, err := findAblation(root, word)
	if err != nil {
		return nil, err
	}
	return ReadAblation(dir)
}

// findAblation returns the folder of an ablation that a word names.
func findAblation(root, word string) (string, error) {
	for _, dir := range []string{word, filepath.Join(root, word)} {
		if _, err := os.Stat(filepath.Join(dir, "ablation.json")); err == nil {
			return filepath.Clean(dir), nil
		}
	}
	found, _ := filepath.Glob(filepath.Join(root, "*", "ablation.json")) // a root with wildcards finds nothing
	var known []string
	for _, f := range found {
		known = append(known, filepath.Base(filepath.Dir(f)))
	}
	return "", fmt.Errorf("no ablation %s below %s%s", word, root, nearest(word, known))
}
