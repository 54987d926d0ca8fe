package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/option"
)

// Command is one word of the language, on the shell and elsewhere.
type Command struct {
	Name, Args, Help string
	Run              func(ctx context.Context, s *Session, args []string) error
}

// Group is commands that serve one purpose.
type Group struct {
	Name     string
	Commands []*Command
}

// Groups is the table from which dispatch, help, completion and README's list
// of commands are made. The kinds of words in Args are those of kinds.
var Groups []Group

func init() { // in init because help refers to the table
	Groups = []Group{
		{"learn", []*Command{
			{"help", "[COMMAND] | --markdown", "list the commands, or the keys of one", help},
			{"mixers", "[MIXER,...]", "list the mixers, or the options of some", listMixers},
			{"hybrids", "[PATTERN] [layers=N]", "list published stacks of several mixers, or the layers of a pattern", listHybrids},
			{"routers", "[ROUTER,...]", "list what passes values and errors between layers, or the options of some", listRouters},
			{"studies", "[STUDY]", "list the studies, or what one runs", listStudies},
			{"tasks", "[TASK]", "list the tasks, or the options and presets of one", listTasks},
		}},
		{"run", []*Command{
			{"train", "[FILE.toml] [key=value...]", "train one model with one seed or more", train},
			{"ablate", "AXIS [VALUE...] [x AXIS [VALUE...]] [FILE.toml] [key=value...] [--lrs LR,LR...] [jobs=N] [--again]", "vary one thing, or two or three against each other, and compare: a table and figures; runs that are there are kept; --lrs chooses each cell's learning rate on validation rows", ablate},
			{"study", "STUDY [FILE.toml] [key=value...] [--lrs LR,LR...] [jobs=N] [--again]", "run a study, an ablation with a name: its table, and the figures that answer its question", study},
			{"sweep", "AXIS|submit|status [VALUE...] [x AXIS [VALUE...]] [FILE.toml] [key=value...] [--lrs LR,LR...] [jobs=N] [--again] [--slurm] [--tasks N] [--partition NAME] [--time TIME] [--cpus N] [--mem SIZE] [--gpus N] [--dry-run]", "ablate in several processes, which may crash; submit it to Slurm; status ABLATION tells how it stands", sweep},
			{"work", "ABLATION [backend=NAME] [--again]", "take runs of an ablation that no other process has, until none is left", work},
			{"resume", "RUN...", "continue runs that were stopped or killed", resumeRuns},
			{"repro", "RUN", "run a run again and compare the bytes", reproduce},
			{"stability", "[N...] [key=value...]", "train stacks of N Kalman layers with and without process noise: loss, gradients and precision by depth", stability},
		}},
		{"look", []*Command{
			{"runs", "[FOLDER]", "list the runs below a folder, the oldest first", listTheRuns},
			{"show", "RUN", "show a run: its record, evaluations and loss", showRun},
			{"table", "RUN... [--format text|md|csv|latex]", "the results of runs, or of all below a folder, as a table", tableOfRuns},
			{"compare", "RUN RUN", "show in what two runs differ: configuration, results, bytes", compareRuns},
			{"figure", "ABLATION|RUN... [--preset PRESET] [--style paper|paper-wide|talk|notebook] [--dark] [--out FOLDER] | --list", "draw an ablation's figures again, or from runs a paper's figure with its published values", drawFigures},
			{"task", "TASK [option=value...] --show N [--split train|validation|test] [--seed N] | --check [--rows N]", "show rows of a task, or check what it promises", oneTask},
			{"eval", "RUN... [key=value...] [--split validation|test]", "evaluate trained models again: other lengths, rows, difficulty, text or task", evaluateAgain},
			{"generate", "RUN [--prompt TEXT] [--tokens N,...] [--n N] [--temperature T] [--top-k K] [--top-p P] [--seed N]", "continue a text or tokens with a trained model, token by token, or answer a test row so", generate},
			{"probe", "[key=value...] [--run RUN] [--tokens N,...]", "show what the layers' states do at each token of a sequence: arrays, a table and a heat map", probe},
			{"corpus", "PATH --stats [--skip-bad] [--field FIELD] [--limit MB]", "measure a text: a file, a folder, prose, gosrc or hf:OWNER/NAME", measureCorpus},
			{"score", "hellaswag|piqa|winogrande|arc_easy|lambada FILE.jsonl --run RUN [--limit N] [--max-tokens N]", "answer hellaswag, piqa, winogrande, arc_easy or lambada with a trained model of text", score},
		}},
		{"set up", []*Command{
			{"config", "show|diff [FILE.toml|RUN...] [key=value...]", "print an experiment as a complete file, or in what two files or runs differ", config},
			{"rm", "RUN... [--yes]", "remove runs or ablations", removeRuns},
			{"set", "[key=value...]", "show the session's defaults, which a command's own words override; add one, or remove it with key=", set},
			{"source", "FILE", "run the lines of a file", source},
			{"bench", "[BENCH...] [bench=value...] [--figure FILE] [--save FILE] [--from FILE.json] [--json]", "time operators, mixers and models: forward, gradients, training, prefill, decoding", runBench},
			{"doctor", "[backend=NAME]", "report backend, devices, plugins, SIMD and versions, and what is missing", doctor},
			{"notebook", "setup|check|run|new [FILE.ipynb...] [--timeout N] [--to FOLDER]", "register the kernel of Go notebooks, compile their cells, execute them, or write a new one", notebooks},
			{"selftest", "[--mixer MIXER] [--golden FILE.npz] [--kernels] [--chunks N,...] [--save FILE] [--json]", "measure every mixer and form, the fused kernels alone or the recurrence by chunk length against float64", selftest},
			{"quit", "", "leave", quit},
			{"exit", "", "leave", quit},
		}},
	}
}

// errFailed ends a command whose output already says what failed.
var errFailed = errors.New("failed")

// guarded turns a panic inside a command into an error of one line.
func guarded(ctx context.Context, c *Command, s *Session, args []string) (err error) {
	defer caught(&err)
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

func train(ctx context.Context, s *Session, args []string) error {
	out, words := s.place(s.withDefaults(args))
	e, err := Parse(words)
	if err != nil {
		return s.blame(err, args)
	}
	s.noteSkipped(e.Task)
	if _, err := s.open(); err != nil {
		return err
	}
	if err := writable(out); err != nil {
		return err
	}
	line := newProgressLine(s.Err, e.Int("seeds"), e.Int("steps"))
	defer line.clear()
	var runs []*Record
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
		runs = append(runs, r)
	}
	_, err = fmt.Fprintf(s.Out, "\n%s\n", stateLine(e))
	for _, t := range evaluationTables(runs) {
		_, printErr := fmt.Fprintf(s.Out, "\n%s", t.text())
		err = errors.Join(err, printErr)
	}
	for _, n := range notEvaluated(runs) {
		_, printErr := fmt.Fprintln(s.Out, n)
		err = errors.Join(err, printErr)
	}
	return err
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
		k, err := findMixer(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "%s (arXiv %s): %s\n\n%s\n", k.Name, k.Paper, k.Doc, optionTable("mixer.", k.Options)); err != nil {
			return err
		}
	}
	return nil
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
