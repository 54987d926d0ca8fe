package datasets

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// rowMaker draws one row into slices that come zeroed, and tells whether it can
// be used; if not, another is drawn. It looks at split only where a protocol
// draws or scores training rows differently.
type rowMaker func(r *rand.Rand, split Split, inputs, targets []int32, mask []float32) bool

// generator is a Task made row by row.
type generator struct {
	info    Info
	maker   func() rowMaker // a maker with its own scratch space
	oracle  func(inputs []int32, mask []float32, answers []int32)
	modes   []string
	longer  func(factor int, mode string) (Task, error)
	token   func(id int32) string
	class   func(id int32) string // nil: as token
	details []Detail
}

// maxPositions bounds what one call may be asked for, in positions.
const maxPositions = 1 << 30

func (g *generator) Info() Info            { return g.info }
func (g *generator) Lengths() []string     { return g.modes }
func (g *generator) Details() []Detail     { return g.details }
func (g *generator) Token(id int32) string { return g.token(id) }

func (g *generator) Class(id int32) string {
	if g.class == nil {
		return g.token(id)
	}
	return g.class(id)
}

func (g *generator) Longer(factor int, mode string) (Task, error) {
	if err := checkLonger(g, factor, mode); err != nil {
		return nil, err
	}
	return g.longer(factor, mode)
}

// scaled remakes a task with some of its options multiplied.
func scaled(remake func(option.Values) (Task, error), v option.Values, factor int, mode string, names ...string) (Task, error) {
	v = maps.Clone(v)
	for _, name := range names {
		v[name] = v.Int(name) * factor
	}
	t, err := remake(v)
	if err != nil {
		return nil, fmt.Errorf("%w (%s at %d times the length)", err, mode, factor)
	}
	return t, nil
}

// lengthen is the longer of a task whose length is the option len.
func lengthen(remake func(option.Values) (Task, error), v option.Values) func(int, string) (Task, error) {
	return func(factor int, mode string) (Task, error) { return scaled(remake, v, factor, mode, "len") }
}

func checkLonger(t Task, factor int, mode string) error {
	name, modes := t.Info().Name, t.Lengths()
	if len(modes) == 0 {
		return fmt.Errorf("task %s: it has no longer form", name)
	}
	if factor < 1 {
		return fmt.Errorf("task %s: %d times its length: must be at least 1", name, factor)
	}
	for _, m := range modes {
		if m == mode {
			return nil
		}
	}
	return fmt.Errorf("task %s: length mode %q: known are %s", name, mode, strings.Join(modes, ", "))
}

func (g *generator) Oracle(b Batch) []int32 {
	answers := make([]int32, b.Rows*b.T)
	for row := range b.Rows {
		inputs, _, mask := b.Row(row)
		g.oracle(inputs, mask, answers[row*b.T:(row+1)*b.T])
	}
	return answers
}

func (g *generator) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	b, err := newBatch(g.info, split, index, rows)
	if err != nil {
		return b, err
	}
	pcg := rand.NewPCG(0, 0)
	r := rand.New(pcg)
	row := g.maker()
	stream := streamOf(g.info, split, seed)
	for i := range rows {
		pcg.Seed(stream, mix(g.info.row(split, stream, index, rows, i)))
		in, target, mask := b.Row(i)
		for tries := 0; ; tries++ {
			if row(r, split, in, target, mask) && splitOf(in) == split {
				break
			}
			if tries == 10_000 {
				return Batch{}, fmt.Errorf("task %s: no row for %s in %d draws: so few distinct rows exist that they cannot be split", g.info.Name, split, tries)
			}
			clear(in)
			clear(target)
			clear(mask)
		}
	}
	return b, nil
}

// measureScored estimates the mean scored positions of a test row from
// measuredRows rows, for tasks without a closed form.
func (g *generator) measureScored() float64 {
	r := rand.New(rand.NewPCG(1, 1))
	row := g.maker()
	in, target, mask := make([]int32, g.info.T), make([]int32, g.info.T), make([]float32, g.info.T)
	scored, rows := 0.0, 0
	for rows < measuredRows {
		clear(mask)
		if !row(r, Test, in, target, mask) {
			continue
		}
		rows++
		for _, m := range mask {
			scored += float64(m)
		}
	}
	return scored / float64(rows)
}

const measuredRows = 1000

func newBatch(info Info, split Split, index, rows int) (Batch, error) {
	switch {
	case int(split) >= len(Splits):
		return Batch{}, fmt.Errorf("task %s: split %d: must be train, validation or test", info.Name, uint8(split))
	case index < 0:
		return Batch{}, fmt.Errorf("task %s: batch index %d: must not be negative", info.Name, index)
	case rows < 1 || rows > maxPositions/info.T:
		return Batch{}, fmt.Errorf("task %s: %d rows of %d positions: must be 1 to %d rows", info.Name, rows, info.T, maxPositions/info.T)
	}
	n := rows * info.T
	return Batch{Rows: rows, T: info.T, Inputs: make([]int32, n), Targets: make([]int32, n), Mask: make([]float32, n)}, nil
}
