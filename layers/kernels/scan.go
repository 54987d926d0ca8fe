package kernels

// Scans of narrow tokens over a wide state (layers/scan): tokens [B,T,M] and
// [B,T,S], a state of one or two numbers for each of M channels and S states.
//
// A program takes some channels of one batch row with all their states, [S,C]
// tiles, and walks over tokens; what the next ones need is read ahead. Where that
// makes too few programs the tokens are cut into N chunks that run side by side:
// what each chunk does to a state is composed, for all chunks at once; the state is
// carried over the chunks; each chunk runs from its own state.
//
// For the gradient the state before each turn of some tokens is kept, in which a
// program makes the states again and takes the tokens from the last. The gradient
// of the state before a chunk is linear in that of the state after it: factors and
// offsets are made for all chunks at once, from the first token on, as derivatives
// of the state and of the outputs by the state before the chunk. Sums over M, and
// those of statics over batch rows and chunks, are left in parts, one a program.

import (
	"fmt"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// Scan is the shape of a scan; its methods are the kernels.
type Scan struct {
	B, T, M, S int
	DType      DType // of tokens and outputs
	Masked     bool  // tokens may be padding, which leaves the state as it is
	Plan       ScanPlan
	cell       cell
}

// ScanPlan says how the work is cut, which changes nothing but speed.
type ScanPlan struct {
	Channels int // of a program
	Ahead    int // tokens that are read ahead
	Turn     int // tokens between two states that are kept; a multiple of Ahead
	Chunks   int // of the sequence that run side by side
}

// cell is a recurrence. Tiles of its state, of what it does to one and of gradients
// are [S,C].
type cell interface {
	arrays() arrays
	// fix makes what all tokens need from the statics.
	fix(w *program, statics []*Tile)
	// enter makes the state of the arrays before the sequence, leave the arrays
	// after it of the state; the other two are their gradients.
	enter(first []*Tile) (s []*Tile)
	leave(s []*Tile) (last []*Tile)
	enterGradient(s, d []*Tile) (dfirst []*Tile)
	leaveGradient(last, dlast []*Tile) (d []*Tile)
	// next is the state after a token; read returns the outputs before they are
	// summed over states.
	next(w *program, s []*Tile, x token) []*Tile
	read(w *program, next []*Tile, x token) []*Tile
	// nothing is what no tokens do to a state, extend adds a token, and apply
	// returns the state that comes of s.
	nothing(w *program) []*Tile
	extend(w *program, f []*Tile, x token) []*Tile
	apply(f, s []*Tile) []*Tile
	// flat are the derivatives of a state by itself, slope those after a token with
	// the state too, and applyBack takes a gradient to that before.
	flat(w *program) []*Tile
	slope(w *program, s, f []*Tile, x token) (next, slopes []*Tile)
	applyBack(f, d []*Tile) []*Tile
	// pull takes the gradient of the state and sums for the statics over a token,
	// given the state before it; learnt makes the statics' gradients of the sums.
	pull(w *program, x token, s, d, sums []*Tile) (dnext, next []*Tile, of share)
	learnt(w *program, sums []*Tile) []*Tile
}

// arrays are the names of a cell's arrays.
type arrays struct {
	name            string
	channels        []string // of tokens, [B,T,M]
	states, queries []string // of tokens, [B,T,S]: those that move the state, those that outputs need
	statics         []string // [M,S]
	first           []string // the state before the sequence, [B,M,S]
	outputs         []string // [B,T,M]
	state           []string // the state in between, [B,N,M,S]
	effect, slopes  []string // what a chunk does to it, and its derivatives
	sums            int      // for the statics' gradients
}

// share is a program's share of a token's gradients, [S,C] for each array over
// channels, to be summed over states, and for each over states.
type share struct{ channels, states []*Tile }

// token is what one token brings: arrays over channels and gradients of outputs
// [1,C], arrays over states [S,1].
type token struct {
	channels, states, dy []*Tile
	here                 *Tile // whether it is there; nil: yes
}

// turns is how many turns a chunk has.
func (f Scan) turns() int {
	return (f.T + f.Plan.Chunks*f.Plan.Turn - 1) / (f.Plan.Chunks * f.Plan.Turn)
}

// length is how many tokens a chunk has; those of the last may not all exist.
func (f Scan) length() int { return f.turns() * f.Plan.Turn }

func (f Scan) ragged() bool { return f.T != f.Plan.Chunks*f.length() }

// blocks is how many programs share a batch row's channels.
func (f Scan) blocks() int { return (f.M + f.Plan.Channels - 1) / f.Plan.Channels }

// name identifies a kernel of this shape.
func (f Scan) name(what string) string {
	p, mask := f.Plan, ""
	if f.Masked {
		mask = "_mask"
	}
	return fmt.Sprintf("kalmarz_%s_%s_B%d_T%d_M%d_S%d_%s_plan%d_%d_%d_%d%s", f.cell.arrays().name, what, f.B, f.T, f.M, f.S, f.DType, p.Channels, p.Ahead, p.Turn, p.Chunks, mask)
}

func (f Scan) stateDims() []int { return []int{f.B, f.M, f.S} }

func (f Scan) chunkDims() []int { return []int{f.B, f.Plan.Chunks, f.M, f.S} }

func (f Scan) keptDims() []int { return []int{f.B, f.Plan.Chunks * f.turns(), f.M, f.S} }

func (f Scan) channelDims() []int { return []int{f.B, f.T, f.M} }

// program is one program's share: some channels of a batch row, all their states
// and one chunk.
type program struct {
	Scan
	*Kernel
	arrays
	b, n                   *Tile // batch row and chunk
	m, s                   *Tile // channels [C], states [S]
	someChannels, someBoth *Tile // which of them exist, [C], [S,C]; nil: all
	someStates             *Tile
	fixed                  []*Tile // what the cell makes of its statics
}

// kernel begins a kernel with a program for each batch row and block of channels,
// and for each of some chunks.
func (f Scan) kernel(what string, chunks int) *program {
	c, width := f.Plan.Channels, 1
	for width < f.S {
		width *= 2
	}
	k := New(f.name(what), 1, 1, f.blocks(), f.B*chunks)
	w := &program{Scan: f, Kernel: k, arrays: f.cell.arrays(), s: k.Range(width), m: k.Program(0).Mul(c).Add(k.Range(c))}
	row := k.Program(1)
	w.b, w.n = row.Div(chunks), row.Mod(chunks)
	if f.M%c != 0 {
		w.someChannels = w.m.Less(f.M)
		w.someBoth = w.someChannels.Row()
	}
	if width != f.S {
		w.someStates = w.s.Less(f.S)
		w.someBoth = both(w.someBoth, w.someStates.Col())
	}
	return w
}

func both(a, b *Tile) *Tile {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.And(b)
}

func row(x *Tile) *Tile {
	if x == nil {
		return nil
	}
	return x.Row()
}

// full is an [S,C] tile of one number.
func (w *program) full(value float64) *Tile {
	return w.Full(F32, value, w.s.Dims()[0], w.Plan.Channels)
}

// fix reads the statics.
func (w *program) fix() {
	var statics []*Tile
	for _, name := range w.statics {
		statics = append(statics, w.lanes(w.In(name, F32, w.M, w.S)))
	}
	w.cell.fix(w, statics)
}

// lanes reads [S,C] numbers of an array [...,M,S] at an index; lanes that do not
// exist get 0.
func (w *program) lanes(x *Memory, at ...any) *Tile {
	return x.LoadIf(w.someBoth, append(at, w.m.Row(), w.s.Col())...)
}

func (w *program) setLanes(x *Memory, value *Tile, at ...any) {
	x.StoreIf(w.someBoth, value, append(at, w.m.Row(), w.s.Col())...)
}

// ins and outs declare arrays of float32 lanes with a common beginning of their
// names.
func (w *program) ins(prefix string, names []string, dims []int) (ms []*Memory) {
	for _, n := range names {
		ms = append(ms, w.In(prefix+n, F32, dims...))
	}
	return ms
}

func (w *program) outs(prefix string, names []string, dims []int) (ms []*Memory) {
	for _, n := range names {
		ms = append(ms, w.Out(prefix+n, F32, dims...))
	}
	return ms
}

func (w *program) load(ms []*Memory, at ...any) (ts []*Tile) {
	for _, m := range ms {
		ts = append(ts, w.lanes(m, at...))
	}
	return ts
}

func (w *program) store(ms []*Memory, values []*Tile, at ...any) {
	for i, m := range ms {
		w.setLanes(m, values[i], at...)
	}
}

// before reads the state before the sequence.
func (w *program) before() []*Tile {
	return w.cell.enter(w.load(w.ins("", w.first, w.stateDims()), w.b))
}

// tokens are the arrays that are read token by token.
type tokens struct {
	channels, states, dy []*Memory
	mask                 *Memory
}

// moving declares what moves the state.
func (w *program) moving() (t tokens) {
	for _, name := range w.channels {
		t.channels = append(t.channels, w.In(name, w.DType, w.channelDims()...))
	}
	for _, name := range w.states {
		t.states = append(t.states, w.In(name, w.DType, w.B, w.T, w.S))
	}
	if w.Masked {
		t.mask = w.In("mask", F32, w.B, w.T)
	}
	return t
}

// read declares beside these what outputs need.
func (w *program) reading(t tokens) tokens {
	for _, name := range w.queries {
		t.states = append(t.states[:len(t.states):len(t.states)], w.In(name, w.DType, w.B, w.T, w.S))
	}
	return t
}

// graded declares beside these the gradients of outputs.
func (w *program) graded(t tokens) tokens {
	for _, name := range w.outputs {
		t.dy = append(t.dy, w.In("d"+name, w.DType, w.channelDims()...))
	}
	return t
}

// exists tells whether token t is in the sequence; nil: it is.
func (w *program) exists(t *Tile) *Tile {
	if w.ragged() {
		return t.Less(w.T)
	}
	return nil
}

// fetch loads token t, as it is carried through loops.
func (w *program) fetch(x tokens, t *Tile) (raw []*Tile) {
	exists := w.exists(t)
	for _, ms := range [][]*Memory{x.channels, x.dy} {
		for _, m := range ms {
			raw = append(raw, m.LoadIf(both(exists, w.someChannels), w.b, t, w.m))
		}
	}
	for _, m := range x.states {
		raw = append(raw, m.LoadIf(both(exists, w.someStates), w.b, t, w.s))
	}
	if x.mask != nil {
		raw = append(raw, x.mask.LoadIf(exists, w.b, t))
	}
	return raw
}

// token makes of what fetch returned for token t what the equations take.
func (w *program) token(x tokens, t *Tile, raw []*Tile) (y token) {
	next := func() *Tile {
		r := raw[0].To(F32)
		raw = raw[1:]
		return r
	}
	for range x.channels {
		y.channels = append(y.channels, next().Row())
	}
	for range x.dy {
		y.dy = append(y.dy, next().Row())
	}
	for range x.states {
		y.states = append(y.states, next().Col())
	}
	y.here = w.exists(t)
	if x.mask != nil {
		y.here = next().NotZero() // 0 past the end
	}
	return y
}

// walk runs over the chunk's tokens in turns, with the next ones read ahead. Before
// each turn it calls begin, which may be nil.
func (w *program) walk(x tokens, carry []*Tile, begin func(turn *Tile, carry []*Tile), step func(t *Tile, x token, carry []*Tile) []*Tile) []*Tile {
	ahead, n := w.Plan.Ahead, len(carry)
	block := func(t *Tile) (raw []*Tile) {
		if !w.ragged() {
			t = t.Min(w.T - ahead) // what is read after the last token is not used
		}
		for i := range ahead {
			raw = append(raw, w.fetch(x, t.Add(i))...)
		}
		return raw
	}
	from := w.n.Mul(w.length())
	out := w.For(w.turns(), 1, append(carry[:n:n], block(from)...), func(turn *Tile, all []*Tile) []*Tile {
		carry, raw := all[:n], all[n:]
		if begin != nil {
			begin(w.n.Mul(w.turns()).Add(turn), carry)
		}
		first := from.Add(turn.Mul(w.Plan.Turn))
		for at := 0; at < w.Plan.Turn; at += ahead {
			next := block(first.Add(at + ahead))
			for i := range ahead {
				t, each := first.Add(at+i), len(raw)/ahead
				x := w.token(x, t, raw[i*each:][:each])
				carry = here(x, step(t, x, carry), carry)
			}
			raw = next
		}
		return append(carry[:n:n], raw...)
	})
	return out[:n]
}

// here chooses between what a token makes of tiles and what they were before it.
func here(x token, after, before []*Tile) []*Tile {
	if x.here == nil {
		return after
	}
	out := make([]*Tile, len(after))
	for i := range out {
		out[i] = x.here.Where(after[i], before[i])
	}
	return out
}

// counted is a token's sum, 0 if it is not there.
func counted(x token, sum *Tile) *Tile {
	if x.here == nil {
		return sum
	}
	return x.here.Where(sum, 0.0)
}

// Find returns the entry of an operation.
func Find(name string) *Entry {
	for i := range Registry {
		if Registry[i].Name == name {
			return &Registry[i]
		}
	}
	return nil
}
