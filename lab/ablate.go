package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Ablation is a baseline and the cells that differ from it in one axis, or in two
// or three that are crossed.
type Ablation struct {
	Axes  []Varied
	Rates []string // learning rates, rising, of which each cell gets its own; none: the baseline's
	Base  *Experiment
	Cells []*Experiment // every combination of values, those of the last axis in turn; at each of Rates in turn
	Runs  [][]*Record   // by cell, then seed; nil where a run failed before it began
	Dir   string
	Again bool // run also what is there already
	Jobs  int  // processes of this program that share the runs; 0 = none but this; Auto = as many as fit
	Kept  int  // runs that were there already

	drawn []string // figures of the last report
}

// Varied is an axis and the values that it takes.
type Varied struct {
	*Axis
	Values []string
}

// Vary finds an axis. No values means its own.
func Vary(axis string, values ...string) (Varied, error) {
	ax, err := FindAxis(axis)
	if err == nil && len(values) == 0 {
		values = ax.Values
	}
	return Varied{ax, values}, err
}

// NewAblation builds and checks every cell before anything is run.
func NewAblation(base *Experiment, rates []string, axes ...Varied) (*Ablation, error) {
	a := &Ablation{Axes: axes, Base: base, Rates: rates, Cells: []*Experiment{base}}
	for _, ax := range a.varied() { // each differs from the cells before in its key alone
		var next []*Experiment
		for _, e := range a.Cells {
			for _, v := range ax.Values {
				cell, err := ax.cell(e, v)
				if err != nil {
					return nil, err
				}
				next = append(next, cell)
			}
		}
		a.Cells = next
	}
	seen := map[string]int{}
	for i, e := range a.Cells {
		id := fmt.Sprint(e.complete)
		if first, twice := seen[id]; twice {
			return nil, fmt.Errorf("axis %s: %s and %s are the same experiment", a.title(), a.label(first), a.label(i))
		}
		seen[id] = i
	}
	return a, nil
}

// varied are the axes and, as the last, the learning rates.
func (a *Ablation) varied() []Varied {
	if len(a.Rates) == 0 {
		return a.Axes
	}
	return append(slices.Clone(a.Axes), Varied{rateAxis, a.Rates})
}

// values are what the axes of varied have in a cell.
func (a *Ablation) values(cell int) []string {
	axes := a.varied()
	out := make([]string, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		n := len(axes[k].Values)
		out[k], cell = axes[k].Values[cell%n], cell/n
	}
	return out
}

// title names what is varied: eta, or eta x eps.
func (a *Ablation) title() string { return strings.Join(a.names(), " x ") }

func (a *Ablation) names() (names []string) {
	for _, ax := range a.Axes {
		names = append(names, ax.Name)
	}
	return names
}

// label names a cell: eta = 0.5, eps = 0.1.
func (a *Ablation) label(cell int) string {
	var parts []string
	for k, v := range a.values(cell) {
		parts = append(parts, a.varied()[k].Name+" = "+v)
	}
	return strings.Join(parts, ", ")
}

// name is the folder of an ablation: the same cells get the same folder.
func (a *Ablation) name() string {
	h := sha256.New()
	for _, e := range a.Cells {
		fmt.Fprintln(h, e.complete)
	}
	return fmt.Sprintf("ablate-%s-%s", strings.Join(a.names(), "-x-"), hex.EncodeToString(h.Sum(nil))[:8])
}

// Run trains every cell with every seed below folder out, in this process or in
// Jobs others. Runs that are there already are kept; those that another ablation
// of the same folder is at are waited for. A run that fails is not an error of
// Run: see Unfinished.
func (a *Ablation) Run(ctx context.Context, s *Session, out string) (err error) {
	if err := a.prepare(s, out); err != nil {
		return err
	}
	unlock, err := shareFolder(a.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := a.describe(); err != nil {
		return err
	}
	run := a.runHere
	if a.Jobs != 0 {
		run = a.runWorkers
	}
	err = run(ctx, s)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w; what was recorded is in %s", cmp.Or(err, errStopped), a.Dir)
	case err != nil:
		return err
	}
	return a.report()
}

var errStopped = errors.New("stopped")

// prepare makes the ablation's folder, after what can go wrong before it.
func (a *Ablation) prepare(s *Session, out string) error {
	if a.Jobs == 0 {
		if _, err := s.open(); err != nil {
			return err
		}
	}
	if err := writable(out); err != nil {
		return err
	}
	a.Dir, a.Kept, a.Runs = filepath.Join(out, a.name()), 0, nil
	for range a.Cells {
		a.Runs = append(a.Runs, make([]*Record, a.Base.Int("seeds")))
	}
	return os.MkdirAll(a.Dir, 0o755)
}

// runHere takes all runs, one after another.
func (a *Ablation) runHere(ctx context.Context, s *Session) error {
	line := newProgressLine(s.Err, len(a.plan()), a.Base.Int("steps"))
	defer line.clear()
	w := line.watch(s)
	return a.takeAll(ctx, s, turns{sweep: rand.Text(), wait: true}, w)
}

// Unfinished lists the runs that gave no result, with the reasons. A run that
// diverged gave one.
func (a *Ablation) Unfinished() []string {
	var out []string
	for _, p := range a.plan() {
		switch r := a.Runs[p.cell][p.k]; {
		case r == nil:
			out = append(out, p.name+": there is no record")
		case !r.complete():
			out = append(out, fmt.Sprintf("%s: %s: %s", p.name, r.Status, r.Reason))
		}
	}
	return out
}

// folderName spells a value without what shells and file systems take for
// something else.
func folderName(value string) string {
	return strings.NewReplacer("/", "_", ",", "+", " ", "_", "->", "=", ":", "").Replace(value)
}

// writable makes sure that a folder can be made and written to, and leaves
// nothing behind if it cannot.
func writable(dir string) error {
	made := missingParents(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeEmpty(made)
		return fmt.Errorf("out = %s: cannot make the folder: %w", dir, cause(err))
	}
	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		removeEmpty(made)
		return fmt.Errorf("out = %s: cannot write there: %w", dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// missingParents lists the folders that making dir would make, innermost first.
func missingParents(dir string) []string {
	var made []string
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return made
		}
		made = append(made, dir)
		dir = filepath.Dir(dir)
	}
}

func removeEmpty(dirs []string) {
	for _, d := range dirs {
		os.Remove(d) // fails on what is not empty or was never made, as it should
	}
}

// cause strips the path that the error text would repeat.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Print writes the tables.
func (a *Ablation) Print(w io.Writer) error {
	_, err := io.WriteString(w, a.text())
	return err
}

// nameFigures says where the figures are: those asked for, and what lies beside
// them.
func (a *Ablation) nameFigures(w io.Writer, shown ...string) (err error) {
	if len(shown) == 0 {
		shown = []string{"accuracy"}
		if len(a.Axes) > 1 {
			shown[0] = "heat"
		}
	}
	shown = slices.DeleteFunc(slices.Clone(shown), func(name string) bool { return !slices.Contains(a.drawn, name) })
	beside := slices.DeleteFunc(slices.Clone(a.drawn), func(name string) bool { return slices.Contains(shown, name) })
	for i, name := range shown {
		also := "also .png, .pdf, .csv"
		if i == len(shown)-1 && len(beside) > 0 {
			also += "; " + strings.Join(beside, ", ") + " beside it"
		}
		_, printErr := fmt.Fprintf(w, "figure %s (%s)\n", filepath.Join(a.Dir, name+".svg"), also)
		err = errors.Join(err, printErr)
	}
	return err
}
