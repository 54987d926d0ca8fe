package lab

import (
	"context"
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

// Run trains every cell with every seed below folder out.
// Runs that are there already are kept.
func (a *Ablation) Run(ctx context.Context, s *Session, out string) (err error) {
	if _, err := s.open(); err != nil {
		return err
	}
	if err := writable(out); err != nil {
		return err
	}
	a.Dir = filepath.Join(out, a.name())
	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	unlock, err := lockFolder(a.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := a.describe(); err != nil {
		return err
	}
	seeds := a.Base.Int("seeds")
	line := newProgressLine(s.Err, len(a.Cells)*seeds, a.Base.Int("steps"))
	defer line.clear()
	for i, e := range a.Cells {
		a.Runs = append(a.Runs, make([]*Record, seeds))
		for k := range seeds {
			seed := uint64(e.Int("seed") + k)
			line.start(fmt.Sprintf("%s = %s, seed %d", a.Axis.Name, a.Values[i], seed))
			r, err := a.runMissing(ctx, s, e, seed, a.cellDir(i, int(seed)), line.step)
			a.Runs[i][k] = r
			switch {
			case errors.Is(err, errInUse):
				return err
			case ctx.Err() != nil:
				return fmt.Errorf("%w; what was recorded is in %s", err, a.Dir)
			case err != nil: // a failed run is a result too; the rest go on
				line.clear()
				s.note(fmt.Sprintf("%s = %s, seed %d: %v", a.Axis.Name, a.Values[i], seed, err))
			}
			line.finish(r)
		}
	}
	return a.report()
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

// Print writes the table and names the figures.
func (a *Ablation) Print(w io.Writer) error {
	_, err := io.WriteString(w, a.text())
	return err
}
