package kernels

// The Kalman filter of layers/kalman (arXiv 2602.10743), carried by the variance P
// and the mean μ of each latent state instead of λ = 1/P and η = μ/P:
//
//	P⁻ = a² P + p      g = 1/(1 + φ P⁻)      φ = Λ k²
//	P' = g P⁻          μ' = g a μ + P' Λk v
//
// One reciprocal a token, no difference of near numbers, and factors a g <= a.
// Outputs are Σ_s q μ' and Σ_s q² P', or those of the prediction, a μ' and
// a² P' + p.
//
// A program takes some channels of one batch row with all their states, [S,channels]
// tiles, and walks over tokens; what the next tokens need is read ahead. Where that
// makes too few programs the tokens are cut into N chunks that run side by side. A
// chunk takes the state before it to the state after it by five numbers a lane (the
// elements of parallel filtering, arXiv 1905.13002):
//
//	r = 1/(1 + J P)     P' = C + Φ² r P     μ' = m + Φ r (μ + h P)
//
// where C, m are what comes of P = 0, μ = 0 and h, J are what the chunk says about
// the state before it. They are made for all chunks at once, the state is carried
// over the chunks, then each chunk runs from its own state.
//
//	v, Λ, y, y_var  [B,T,M]     k, q  [B,T,S]     a, p  [M,S]     λ, η  [B,M,S]
//	elements, entry states [B,N,M,S]     states kept for the gradient [B,T/turn,M,S]

import (
	"fmt"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// Kalman is the shape of a filter; its methods are the kernels.
type Kalman struct {
	B, T, M, S int
	DType      DType // of v, Λ, k, q, y, y_var
	KalmanParts
	Plan KalmanPlan
}

// KalmanParts are the parts of the filter that a problem has.
type KalmanParts struct {
	Variance bool // y_var is asked for
	Prior    bool // the prediction is read
	Masked   bool // tokens may be padding: no time passes
}

// KalmanPlan says how the work is cut, which changes nothing but speed.
type KalmanPlan struct {
	Channels int // of a program
	Ahead    int // tokens that are read ahead
	Turn     int // tokens between two states that are kept; a multiple of Ahead
	Chunks   int // of the sequence that run side by side
}

// turns is how many turns a chunk has.
func (f Kalman) turns() int {
	return (f.T + f.Plan.Chunks*f.Plan.Turn - 1) / (f.Plan.Chunks * f.Plan.Turn)
}

// length is how many tokens a chunk has; those of the last may not all exist.
func (f Kalman) length() int { return f.turns() * f.Plan.Turn }

func (f Kalman) ragged() bool { return f.T != f.Plan.Chunks*f.length() }

// name identifies a kernel of this shape.
func (f Kalman) name(what string) string {
	p := f.Plan
	s := fmt.Sprintf("kalmarz_%s_B%d_T%d_M%d_S%d_%s_plan%d_%d_%d_%d", what, f.B, f.T, f.M, f.S, f.DType, p.Channels, p.Ahead, p.Turn, p.Chunks)
	for _, part := range []struct {
		has  bool
		name string
	}{{f.Variance, "_variance"}, {f.Prior, "_prior"}, {f.Masked, "_mask"}} {
		if part.has {
			s += part.name
		}
	}
	return s
}

// program is one program's share: some channels of a batch row, all their states
// and one chunk.
type program struct {
	Kalman
	*Kernel
	b, n             *Tile // batch row and chunk
	m, s             *Tile // channels [C], states [S]
	channels, states *Tile // which of them exist; nil: all
	both             *Tile // [S,C]
	a, a2, p         *Tile // [S,C]; a² is at least floor
}

// floor keeps a² from underflowing, as in layers/kalman.
const floor = 1e-12

// kernel begins a kernel with a program for each batch row and block of channels,
// and for each of some chunks.
func (f Kalman) kernel(what string, chunks int) program {
	c, width := f.Plan.Channels, 1
	for width < f.S {
		width *= 2
	}
	k := New(f.name("kalman_"+what), 1, 1, f.blocks(), f.B*chunks)
	w := program{Kalman: f, Kernel: k, s: k.Range(width), m: k.Program(0).Mul(c).Add(k.Range(c))}
	row := k.Program(1)
	w.b, w.n = row.Div(chunks), row.Mod(chunks)
	if f.M%c != 0 {
		w.channels = w.m.Less(f.M)
		w.both = w.channels.Row()
	}
	if width != f.S {
		w.states = w.s.Less(f.S)
		w.both = both(w.both, w.states.Col())
	}
	return w
}

// blocks is how many programs share a batch row's channels.
func (f Kalman) blocks() int { return (f.M + f.Plan.Channels - 1) / f.Plan.Channels }

func both(a, b *Tile) *Tile {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.And(b)
}

// process reads a and p.
func (w *program) process() {
	w.a = w.lanes(w.In("a", F32, w.M, w.S), 0)
	w.p = w.lanes(w.In("p", F32, w.M, w.S), 0)
	w.a2 = w.a.Mul(w.a).Max(floor)
}

// lanes reads [S,C] numbers of an array [...,M,S] at an index; lanes that do not
// exist get another number.
func (w *program) lanes(x *Memory, other float64, at ...any) *Tile {
	t := x.LoadIf(w.both, append(at, w.m.Row(), w.s.Col())...)
	if w.both != nil && other != 0 {
		t = w.both.Where(t, other)
	}
	return t
}

func (w *program) setLanes(x *Memory, value *Tile, at ...any) {
	x.StoreIf(w.both, value, append(at, w.m.Row(), w.s.Col())...)
}

func (f Kalman) stateDims() []int { return []int{f.B, f.M, f.S} }

func (f Kalman) chunkDims() []int { return []int{f.B, f.Plan.Chunks, f.M, f.S} }

func (f Kalman) keptDims() []int { return []int{f.B, f.Plan.Chunks * f.turns(), f.M, f.S} }

func (f Kalman) channelDims() []int { return []int{f.B, f.T, f.M} }

// belief is the state of a lane: variance and mean.
type belief struct{ P, mean *Tile }

// first reads the state before the sequence.
func (w *program) first() belief {
	P := w.lanes(w.In("lambda", F32, w.stateDims()...), 1, w.b).Reciprocal()
	return belief{P, w.lanes(w.In("eta", F32, w.stateDims()...), 0, w.b).Mul(P)}
}

// token is what one token brings: v, Λ and gradients of outputs [1,C], k, q [S,1].
type token struct {
	v, precision, k, q *Tile
	dy, dVar           *Tile
	here               *Tile // whether it is there; nil: yes
}

// tokens are the arrays that are read token by token: those over channels, those
// over states and the mask. Each may be nil.
type tokens struct{ v, precision, k, q, dy, dVar, mask *Memory }

func (w *program) observed() tokens {
	t := tokens{
		v: w.In("v", w.DType, w.channelDims()...), precision: w.In("precision", w.DType, w.channelDims()...),
		k: w.In("k", w.DType, w.B, w.T, w.S)}
	if w.Masked {
		t.mask = w.In("mask", F32, w.B, w.T)
	}
	return t
}

func (t *tokens) query(w *program) { t.q = w.In("q", w.DType, w.B, w.T, w.S) }

func (t *tokens) gradients(w *program) {
	t.dy = w.In("dy", w.DType, w.channelDims()...)
	if w.Variance {
		t.dVar = w.In("dy_var", w.DType, w.channelDims()...)
	}
}

// exists tells whether token t is in the sequence; nil: it is.
func (w *program) exists(t *Tile) *Tile {
	if w.ragged() {
		return t.Less(w.T)
	}
	return nil
}

// read loads token t, as it is carried through loops.
func (w *program) read(x tokens, t *Tile) (raw []*Tile) {
	exists := w.exists(t)
	for _, m := range []*Memory{x.v, x.precision, x.dy, x.dVar} {
		if m != nil {
			raw = append(raw, m.LoadIf(both(exists, w.channels), w.b, t, w.m))
		}
	}
	for _, m := range []*Memory{x.k, x.q} {
		if m != nil {
			raw = append(raw, m.LoadIf(both(exists, w.states), w.b, t, w.s))
		}
	}
	if x.mask != nil {
		raw = append(raw, x.mask.LoadIf(exists, w.b, t))
	}
	return raw
}

// token makes of what read returned for token t what the equations take.
func (w *program) token(x tokens, t *Tile, raw []*Tile) (y token) {
	next := func(m *Memory) *Tile {
		if m == nil {
			return nil
		}
		r := raw[0].To(F32)
		raw = raw[1:]
		return r
	}
	y.v, y.precision, y.dy, y.dVar = row(next(x.v)), row(next(x.precision)), row(next(x.dy)), row(next(x.dVar))
	y.k, y.q = col(next(x.k)), col(next(x.q))
	if mask := next(x.mask); mask != nil {
		y.here = mask.NotZero()
	} else {
		y.here = w.exists(t)
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
			raw = append(raw, w.read(x, t.Add(i))...)
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
				carry = step(t, w.token(x, t, raw[i*each:][:each]), carry)
			}
			raw = next
		}
		return append(carry[:n:n], raw...)
	})
	return out[:n]
}

func row(x *Tile) *Tile {
	if x == nil {
		return nil
	}
	return x.Row()
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

// moved is what a token does to a lane.
type moved struct {
	belief             // after it
	g, predicted *Tile // g, aμ
	lk, weight   *Tile // Λk, P'Λk
}

func (w *program) move(s belief, x token) (y moved) {
	y.lk = x.precision.Mul(x.k)
	prior := w.a2.Mul(s.P).Add(w.p)
	y.g = y.lk.Mul(x.k).Mul(prior).Add(1).Reciprocal()
	y.P = y.g.Mul(prior)
	y.predicted = w.a.Mul(s.mean)
	y.weight = y.lk.Mul(y.P)
	y.mean = y.g.Mul(y.predicted).Add(y.weight.Mul(x.v))
	return y
}
