package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// folder returns the folder of runs that the words, or the session's defaults,
// name, and the other words.
func (s *Session) folder(args []string) (out string, rest []string) {
	var all []string
	for _, kv := range s.defaults {
		if slices.Contains(placeKeys, kv.Key) {
			all = append(all, kv.Key+"="+kv.Value)
		}
	}
	return s.place(append(all, args...))
}

// named returns the run that a word names.
func named(root, word string) (listedRun, error) {
	dir, err := findRun(root, word)
	if err != nil {
		return listedRun{}, err
	}
	r, err := ReadRecord(dir)
	return listedRun{id: filepath.Base(dir), dir: dir, r: r}, err
}

func listTheRuns(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	if len(rest) > 1 {
		return fmt.Errorf("%q: runs takes one folder", rest[1])
	}
	for _, dir := range rest {
		out = dir
	}
	runs, err := listRuns(out)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintf(s.Out, "no runs below %s\n", out)
		return err
	}
	_, err = io.WriteString(s.Out, runTable(runs, time.Now()).text())
	return err
}

func showRun(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	if len(rest) != 1 {
		return errors.New("expected one run: show RUN")
	}
	l, err := named(out, rest[0])
	if err != nil {
		return err
	}
	text, err := l.describe()
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.Out, text)
	return err
}

// tableOfRuns takes runs, and folders for all runs below them.
func tableOfRuns(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	format := "text"
	words, err := readFlags(rest, map[string]*string{"format": &format}, nil)
	if err != nil {
		return err
	}
	write := formats[format]
	if write == nil {
		return fmt.Errorf("--format %s: known are text, md, csv, latex", format)
	}
	if len(words) == 0 {
		return errors.New("expected runs: table RUN... --format md|csv|latex")
	}
	var runs []listedRun
	for _, w := range words {
		found, err := runsOf(out, w)
		if err != nil {
			return err
		}
		runs = append(runs, found...)
	}
	_, err = io.WriteString(s.Out, write(resultTable(runs)))
	return err
}

// runsOf is the run that a word names, or those below the folder it names.
func runsOf(root, word string) ([]listedRun, error) {
	for _, dir := range []string{word, filepath.Join(root, word)} {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			continue
		}
		runs, err := listRuns(dir)
		if err != nil {
			return nil, err
		}
		for _, l := range runs {
			if l.err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(l.dir, "run.json"), l.err)
			}
		}
		if len(runs) > 0 {
			return runs, nil
		}
	}
	l, err := named(root, word)
	return []listedRun{l}, err
}

// compareRuns shows in what two runs differ: configuration, results, bytes.
func compareRuns(_ context.Context, s *Session, args []string) error {
	out, rest := s.folder(args)
	if len(rest) != 2 {
		return errors.New("expected two runs: compare RUN RUN")
	}
	a, err := named(out, rest[0])
	if err != nil {
		return err
	}
	b, err := named(out, rest[1])
	if err != nil {
		return err
	}
	var text strings.Builder
	if d := configDiff(a.r.Config, b.r.Config); len(d.rows) > 0 {
		text.WriteString(d.text() + "\n")
	} else {
		text.WriteString("the configurations are the same\n\n")
	}
	text.WriteString(resultTable([]listedRun{a, b}).text())
	lines, err := differences(a.dir, b.dir)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		lines = []string{"metrics, weights and evaluations are the same to the byte"}
	}
	_, err = fmt.Fprintf(s.Out, "%s\n%s\n", text.String(), strings.Join(lines, "\n"))
	return err
}
