package lab

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/viz"
)

// stack is one run of the depth-stability study.
type stack struct {
	layers    int
	noise     string // the discretisation: ou or none
	seed      uint64
	record    *Record
	gradNorm  float64 // largest before clipping, over all steps
	precision float64 // largest over layers, channels, states and tokens of a test row, after training
}

// stability trains stacks of Kalman layers of several depths with the noise of
// the Ornstein-Uhlenbeck process and with none, and compares their losses, their
// gradients and how certain the filters become.
func stability(ctx context.Context, s *Session, args []string) error {
	out, words := s.place(s.withDefaults(args))
	depths, words, err := leadingNumbers(words)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "mixer=") }) {
		words = append([]string{"mixer=kalman"}, words...)
	}
	base, err := Parse(words)
	if err != nil {
		return s.blame(err, args)
	}
	if _, err := s.open(); err != nil {
		return err
	}
	if err := writable(out); err != nil {
		return err
	}
	dir := filepath.Join(out, "stability-"+base.hash())
	var cells []*Experiment
	for _, n := range depths {
		deep, err := base.With("layers", strconv.Itoa(n))
		if err != nil {
			return err
		}
		for _, noise := range []string{"ou", "none"} {
			e, err := deep.With("mixer.discretisation", noise)
			if err != nil {
				return fmt.Errorf("stability needs the mixer kalman: %w", err)
			}
			cells = append(cells, e)
		}
	}
	seeds := base.Int("seeds")
	line := newProgressLine(s.Err, len(cells)*seeds, base.Int("steps"))
	defer line.clear()
	var stacks []stack
	for i, e := range cells {
		for k := range seeds {
			c := stack{layers: e.Int("layers"), noise: []string{"ou", "none"}[i%2], seed: uint64(e.Int("seed") + k)}
			line.start(fmt.Sprintf("%d layers, %s, seed %d", c.layers, c.noise, c.seed))
			if err := c.train(ctx, s, e, filepath.Join(dir, fmt.Sprintf("%d-%s", c.layers, c.noise), fmt.Sprintf("seed-%d", c.seed)), line); err != nil {
				return err
			}
			line.finish(c.record)
			stacks = append(stacks, c)
		}
	}
	line.clear()
	table := stabilityTable(stacks)
	if err := writeFile(filepath.Join(dir, "table.md"), []byte(table.markdown())); err != nil {
		return err
	}
	if _, err := stabilityFigure(stacks).Save(dir, "stability", viz.PaperWide()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\nfigure %s (also .png, .pdf, .csv)\n", table.text(), filepath.Join(dir, "stability.svg"))
	return err
}

// leadingNumbers takes depths out of words; none means 1, 2, 4, 8, 16.
func leadingNumbers(words []string) (numbers []int, rest []string, err error) {
	for _, w := range words {
		if strings.Contains(w, "=") {
			rest = append(rest, w)
			continue
		}
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || slices.Contains(numbers, n) {
			return nil, nil, fmt.Errorf("%q: depths must be different whole numbers of layers", w)
		}
		numbers = append(numbers, n)
	}
	if numbers == nil {
		numbers = []int{1, 2, 4, 8, 16}
	}
	return numbers, rest, nil
}

func (c *stack) train(ctx context.Context, s *Session, e *Experiment, dir string, line *progressLine) (err error) {
	c.record, err = s.run(ctx, e, c.seed, dir, func(step int, m measured, tokensPerS float64) {
		c.gradNorm = max(c.gradNorm, m.gradNorm)
		line.step(step, m, tokensPerS)
	})
	if err != nil {
		return err
	}
	t, err := s.trainer(e)
	if err != nil {
		return err
	}
	if c.record.Status == Diverged { // its last finite weights are in the folder, if it got that far
		c.precision = math.NaN()
		return nil
	}
	b, err := e.Task.Batch(datasets.Test, c.seed, 0, 1)
	if err != nil {
		return err
	}
	tokens, _, _ := b.Row(0)
	traces, err := e.Model.Probe(s.be, t.set, tokens)
	if err != nil {
		return oneLine(err)
	}
	for _, tr := range traces {
		if tr.Name == "peak_precision" {
			c.precision = max(c.precision, slices.Max(tr.Value))
		}
	}
	return nil
}

func (c stack) loss() float64 {
	if c.record.Status == Diverged {
		return math.NaN()
	}
	return float64(c.record.Final)
}
