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
	"strings"
)

// Ablation is a baseline and the cells that differ from it in one axis.
type Ablation struct {
	Axis   *Axis
	Base   *Experiment
	Values []string
	Cells  []*Experiment
	Runs   [][]*Record // by cell, then seed; nil where a run failed before it began
	Dir    string
	Again  bool // run also what is there already
	Jobs   int  // processes of this program that share the runs; 0 = none but this; Auto = as many as fit
	Kept   int  // runs that were there already
}

// NewAblation builds and checks every cell before anything is run. No values
// means the axis's own.
func NewAblation(axis string, values []string, base *Experiment) (*Ablation, error) {
	ax, err := FindAxis(axis)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		values = ax.Values
	}
	a := &Ablation{Axis: ax, Base: base, Values: values}
	seen := map[string]string{}
	for _, v := range values {
		e, err := ax.cell(base, v)
		if err != nil {
			return nil, err
		}
		id := fmt.Sprint(e.complete)
		if first, twice := seen[id]; twice {
			return nil, fmt.Errorf("axis %s: values %s and %s are the same experiment", ax.Name, first, v)
		}
		seen[id] = v
		a.Cells = append(a.Cells, e)
	}
	return a, nil
}

// name is the folder of an ablation: the same cells get the same folder.
func (a *Ablation) name() string {
	h := sha256.New()
	for _, e := range a.Cells {
		fmt.Fprintln(h, e.complete)
	}
	return fmt.Sprintf("ablate-%s-%s", a.Axis.Name, hex.EncodeToString(h.Sum(nil))[:8])
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

func folderName(value string) string { return strings.NewReplacer("/", "_", ",", "+").Replace(value) }

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

// Print writes the table and names the figures.
func (a *Ablation) Print(w io.Writer) error {
	_, err := io.WriteString(w, a.text())
	return err
}
