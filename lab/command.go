package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
)

// Command is one word of the language, on the shell and elsewhere.
type Command struct {
	Name, Args, Help string
	Run              func(ctx context.Context, s *Session, args []string) error
}

// Commands is the table from which help and dispatch are made.
var Commands []*Command

func init() { // in init because help refers to the table
	Commands = []*Command{
		{"mixers", "[NAME,...]", "list the mixers, or the options of some", listMixers},
		{"tasks", "[NAME]", "list the tasks, or the options of one", listTasks},
		{"doctor", "", "report backend, devices, plugins, SIMD and versions, and what is missing", doctor},
		{"train", "[key=value...]", "train one model with one seed or more", train},
		{"ablate", "AXIS [VALUE...] [key=value...]", "vary one thing and compare: a table and figures", ablate},
		{"selftest", "[--mixer M] [--golden FILE.npz] [--json]", "measure every mixer and form against float64", selftest},
		{"help", "[COMMAND]", "list the commands, or the keys of one", help},
	}
}

// Main runs one command and returns the exit status: 0, 1 after an error, 2
// when the words make no command.
func Main(args []string) int {
	if err := backend.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "kalmarz:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := NewSession(os.Stdout, os.Stderr)
	if len(args) == 0 {
		args = []string{"help"}
	}
	for _, c := range Commands {
		if c.Name != args[0] {
			continue
		}
		err := guarded(ctx, c, s, args[1:])
		switch {
		case errors.Is(err, errFailed):
			return 1
		case err != nil:
			fmt.Fprintln(os.Stderr, "kalmarz "+c.Name+":", err)
			return 1
		}
		return 0
	}
	var names []string
	for _, c := range Commands {
		names = append(names, c.Name)
	}
	fmt.Fprintf(os.Stderr, "kalmarz: unknown command %q%s: known are %s\n", args[0], nearest(args[0], names), strings.Join(names, ", "))
	return 2
}

// errFailed ends a command whose output already says what failed.
var errFailed = errors.New("failed")

// guarded turns a panic inside a command into an error of one line.
func guarded(ctx context.Context, c *Command, s *Session, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = oneLine(fmt.Errorf("%v", r))
		}
	}()
	return c.Run(ctx, s, args)
}

// place takes out and backend from the words: they say where, not what.
func (s *Session) place(args []string) (out string, rest []string) {
	out = "runs"
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "out":
			out = value
		case "backend":
			s.Backend = value
		default:
			rest = append(rest, a)
		}
	}
	return out, rest
}

func ablate(ctx context.Context, s *Session, args []string) error {
	out, args := s.place(args)
	if len(args) == 0 || strings.Contains(args[0], "=") {
		t := &table{header: []string{"axis", "key", "values", ""}}
		for _, a := range Axes {
			t.add(a.Name, a.Key, strings.Join(a.Values, " "), a.Doc)
		}
		return errors.Join(errors.New("an axis is missing; these are known:\n" + t.text()))
	}
	axis := args[0]
	var values, words []string
	for _, a := range args[1:] {
		if strings.Contains(a, "=") {
			words = append(words, a)
		} else {
			values = append(values, a)
		}
	}
	if _, err := FindAxis(axis); err != nil {
		return err
	}
	base, err := Parse(words)
	if err != nil {
		return err
	}
	a, err := NewAblation(axis, values, base)
	if err != nil {
		return err
	}
	if err := a.Run(ctx, s, out); err != nil {
		return err
	}
	if err := a.Print(s.Out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "figure %s (also .png, .pdf, .csv; training beside it)\n", filepath.Join(a.Dir, "accuracy.svg"))
	return err
}

func train(ctx context.Context, s *Session, args []string) error {
	out, words := s.place(args)
	e, err := Parse(words)
	if err != nil {
		return err
	}
	if _, err := s.open(); err != nil {
		return err
	}
	if err := writable(out); err != nil {
		return err
	}
	line := newProgressLine(s.Err, e.Int("seeds"), e.Int("steps"))
	defer line.clear()
	for k := range e.Int("seeds") {
		seed := uint64(e.Int("seed") + k)
		dir := filepath.Join(out, fmt.Sprintf("train-%s-seed-%d", e.hash(), seed))
		line.start(fmt.Sprintf("%s on %s, seed %d", e.Word("mixer"), e.Word("task"), seed))
		r, err := s.run(ctx, e, seed, dir, line.step)
		if err != nil {
			return err
		}
		line.clear()
		if _, err := fmt.Fprintf(s.Out, "%s  %s\n", dir, summary(r)); err != nil {
			return err
		}
		line.done++
	}
	return nil
}

func listMixers(_ context.Context, s *Session, args []string) error {
	if len(args) == 0 {
		t := &table{header: []string{"mixer", "arXiv", ""}}
		for _, k := range mixer.Registry {
			t.add(k.Name, k.Paper, k.Doc)
		}
		_, err := io.WriteString(s.Out, t.text())
		return err
	}
	for _, name := range strings.Split(strings.Join(args, ","), ",") {
		k, err := mixer.Find(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "%s (arXiv %s): %s\n\n%s\n", k.Name, k.Paper, k.Doc, optionTable("mixer.", k.Options)); err != nil {
			return err
		}
	}
	return nil
}

func listTasks(_ context.Context, s *Session, args []string) error {
	if len(args) > 0 {
		k, err := datasets.Find(args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s: %s\npresets: %s\n\n%s", k.Name, k.Doc, strings.Join(k.PresetNames(), ", "), optionTable("task.", k.Options))
		return err
	}
	t := &table{header: []string{"task", "vocabulary", "length", "scored", "chance %", "presets", ""}}
	for _, k := range datasets.Registry {
		task, err := k.New(k.Options.Defaults())
		if err != nil {
			return err
		}
		i := task.Info()
		t.add(k.Name, fmt.Sprint(i.Vocab), fmt.Sprint(i.T), fmt.Sprintf("%.4g", i.Scored), fmt.Sprintf("%.1f", 100*i.Chance), strings.Join(k.PresetNames(), " "), k.Doc)
	}
	_, err := io.WriteString(s.Out, t.text())
	return err
}

func optionTable(prefix string, set option.Set) string {
	t := &table{header: []string{"key", "default", "allowed", ""}}
	for _, o := range set {
		t.add(prefix+o.Name, option.Format(o.Default), o.Allowed(), o.Help)
	}
	return t.text()
}

func doctor(_ context.Context, s *Session, args []string) error {
	_, rest := s.place(args)
	if len(rest) > 0 {
		return fmt.Errorf("%q: doctor takes backend=... alone", rest[0])
	}
	return backend.Doctor(s.Out, s.Backend)
}

func help(_ context.Context, s *Session, args []string) error {
	if len(args) == 0 {
		t := &table{header: []string{"command", "", ""}}
		for _, c := range Commands {
			t.add(c.Name, c.Args, c.Help)
		}
		_, err := io.WriteString(s.Out, t.text())
		return err
	}
	for _, c := range Commands {
		if c.Name != args[0] {
			continue
		}
		fmt.Fprintf(s.Out, "kalmarz %s %s\n%s\n", c.Name, c.Args, c.Help)
		if c.Name == "train" || c.Name == "ablate" {
			place := option.Set{
				{Name: "out", Kind: option.Word, Default: "runs", Help: "folder for results"},
				{Name: "backend", Kind: option.Word, Default: "auto", Help: "go, xla:cpu, xla:cuda; auto = what is installed"},
			}
			_, err := io.WriteString(s.Out, "\n"+optionTable("", append(place, options...))+"\nTask keys: tasks NAME. Mixer keys: mixers NAME.\n")
			return err
		}
		return nil
	}
	return fmt.Errorf("unknown command %q", args[0])
}
