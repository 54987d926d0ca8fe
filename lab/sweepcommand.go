package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ablate runs an ablation in this process, or in several if jobs says so.
func ablate(ctx context.Context, s *Session, args []string) error {
	return vary(ctx, s, args, 1)
}

// sweep is ablate in processes of their own: one that crashes leaves the others
// alone. It also submits one to Slurm, and tells how one stands.
func sweep(ctx context.Context, s *Session, args []string) error {
	if len(args) > 0 && args[0] == "submit" {
		return submit(ctx, s, args[1:])
	}
	if len(args) > 0 && args[0] == "status" {
		return sweepStatus(ctx, s, args[1:])
	}
	return vary(ctx, s, args, Auto)
}

// vary runs an ablation and shows its tables and figures, the main one if none are
// named.
func vary(ctx context.Context, s *Session, args []string, jobs int, figures ...string) error {
	again := false
	a, out, err := s.ablation(args, jobs, nil, map[string]*bool{"again": &again})
	if err != nil {
		return err
	}
	if a.Again = again; jobs == 1 && a.Jobs == 1 {
		a.Jobs = 0
	}
	if err := a.Run(ctx, s, out); err != nil {
		return err
	}
	if err := a.Print(s.Out); err != nil {
		return err
	}
	if err := a.nameFigures(s.Out, figures...); err != nil {
		return err
	}
	if left := a.Unfinished(); len(left) > 0 {
		return fmt.Errorf("%d of %d runs failed; the first is %s", len(left), len(a.plan()), left[0])
	}
	return nil
}

// ablation reads the words of an ablation: axes, values, a file, keys, where
// results go and how many processes work; and a command's own flags.
func (s *Session) ablation(args []string, jobs int, values map[string]*string, switches map[string]*bool) (a *Ablation, out string, err error) {
	if len(args) > 0 {
		args = append(args[:1:1], s.withDefaults(args[1:])...)
	}
	out, args = s.place(args)
	lrs := ""
	values = maps.Clone(values)
	if values == nil {
		values = map[string]*string{}
	}
	values["lrs"] = &lrs
	if args, err = readFlags(args, values, switches); err != nil {
		return nil, "", err
	}
	var axisWords, words []string
	for _, w := range args {
		key, value, isKey := strings.Cut(w, "=")
		switch {
		case key == "jobs" && isKey:
			if jobs, err = readJobs(value); err != nil {
				return nil, "", err
			}
		case isKey || isFile(w):
			words = append(words, w)
		default:
			axisWords = append(axisWords, w)
		}
	}
	if len(axisWords) == 0 {
		t := &table{header: []string{"axis", "key", "values", ""}}
		for _, a := range Axes {
			t.add(a.Name, a.Key, strings.Join(a.Values, " "), a.Doc)
		}
		return nil, "", errors.New("an axis is missing; these are known:\n" + t.text())
	}
	axes, err := readAxes(axisWords)
	if err != nil {
		return nil, "", err
	}
	rates, err := readRates(lrs, axes)
	if err != nil {
		return nil, "", err
	}
	base, err := baseline(words, axes...)
	if err != nil {
		own := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "jobs=") })
		return nil, "", s.blame(err, own)
	}
	s.noteSkipped(base.Task)
	if a, err = NewAblation(base, rates, axes...); err != nil {
		return nil, "", err
	}
	a.Jobs = jobs
	return a, out, nil
}

// readJobs reads jobs=: a number of processes, or auto.
func readJobs(text string) (int, error) {
	if text == "auto" {
		return Auto, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1024 {
		return 0, fmt.Errorf("jobs = %s: must be a whole number of processes from 1 to 1024, or auto", text)
	}
	return n, nil
}
