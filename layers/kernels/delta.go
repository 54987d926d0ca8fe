package kernels

// The delta rule with a decay per head, or none, in chunks of C tokens
// (layers/delta; arXiv 2412.06464, 2406.06484). With G_r = Σ_{i<=r} g_i inside a
// chunk, γ_r = exp(G_r) and S the state on entry:
//
//	A = (I + T)⁻¹         T_rs = e_r·k_s exp(G_r - G_s) β_s, s < r
//	y = A (z - γ∘(E S))   u = β∘y
//	o = γ∘(Q S) + P u     P_rs = q_r·k_s exp(G_r - G_s), s <= r
//	S' = γ_C S + Kᵀ (exp(G_C - G)∘u)
//
// y_t = z_t - S̃_tᵀ e_t is what a token would write at rate β_t = 1; rates are
// optional, and without them y is u. A is made for all chunks at once; then one
// program for a head and some columns of v walks through the chunks with S in
// registers.
//
//	q, k, e  [B,T,H,K]     z, o, y  [B,T,H,V]     g, β  [B,T,H], g at most 0
//	sums G   [B,H,N,2,C]     inverse A  [B,H,N,C,C]
//	first, last S [B,H,K,V]     entry S of each chunk [B,H,N,K,V]

import (
	"fmt"
	"sync/atomic"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// Delta is the shape of a problem; its methods are the kernels.
type Delta struct {
	B, T, H, K, V int
	C             int   // chunk length, a multiple of 16
	DType         DType // of q, k, e, z, o, y
	Parts
	Plan Plan
}

// Parts are the parts of the recurrence that a problem has.
type Parts struct {
	Erases bool // without, y = z: an additive state
	Shared bool // e is k
	Rated  bool
	Decays bool

	Channels bool // the decay is of each key channel
}

// Plan says how the work is cut, which changes nothing but speed.
type Plan struct {
	Columns         int // of v that a program takes
	Warps           int // of a program that walks through chunks
	Stages          int // chunks that it holds in shared memory
	Segments        int // that a head's chunks are cut into
	LocalWarps      int // of a program with one chunk
	LocalStages     int // slices that it holds in shared memory
	LocalChannels   int // of a slice
	LocalColumns    int // of v that it takes at once
	LocalRegisters  int // bound of a thread of it, 0 for none
	WithinRegisters int // the same of one that makes an inverse
}

// plan is what was found best on an H200; wider numbers and keys leave no
// room for two chunks.
func (d Delta) plan() Plan {
	p := Plan{Columns: 64, Warps: 4, Stages: 2, LocalWarps: 4, LocalStages: 2, LocalChannels: 32, LocalColumns: 128, WithinRegisters: 128}
	if d.K > 128 || d.DType == F32 {
		p = Plan{Columns: 32, Warps: 4, Stages: 1, LocalWarps: 8, LocalStages: 1, LocalChannels: 32, LocalColumns: 32}
	}
	if d.Erases && !d.Shared {
		p.Stages = 1 // with a vector more, two programs fit only without a second chunk
	}
	if d.Channels {
		// Walks that read five arrays have no room for three chunks, and of two none is
		// fetched ahead; registers of a chunk's programs must not spill.
		p.Stages, p.LocalStages, p.WithinRegisters = 1, 1, 0
		if d.DType == F32 {
			p.LocalChannels = 16
		}
	}
	if t := tuned.Load(); t != nil {
		p = *t
	}
	if p.Segments == 0 {
		// Segments cost two more walks, without outputs; the device holds busy programs.
		const busy, fewest = 256, 8
		p.Segments = 1
		if n := d.B * d.H * max(1, d.V/p.Columns); 4*n <= busy && d.K <= 128 {
			p.Segments = max(1, min(busy/n, d.T/d.C/fewest))
		}
	}
	return p
}

var tuned atomic.Pointer[Plan]

// Tune replaces the plan of all problems that are built from now on; nil restores
// the built-in ones.
func Tune(p *Plan) { tuned.Store(p) }

// numbers are the plan's, in their order.
func (p *Plan) numbers() []*int {
	return []*int{&p.Columns, &p.Warps, &p.Stages, &p.Segments, &p.LocalWarps, &p.LocalStages, &p.LocalChannels, &p.LocalColumns, &p.LocalRegisters, &p.WithinRegisters}
}

// ParsePlan reads a plan's numbers with commas, in their order.
func ParsePlan(text string) (*Plan, error) {
	var p Plan
	ns := p.numbers()
	if !parseNumbers(text, ns, func(i, n int) bool { return n > 0 || n == 0 && (i == 3 || i > 7) }) {
		return nil, fmt.Errorf("plan = %s: must be %d whole numbers with commas: columns, warps, stages, segments of a sequence (0 = as many as fill the device), warps and stages of one-chunk programs, the channels and columns they take at once, the registers of a thread of these and of the inverse's, 0 = as many as it takes", text, len(ns))
	}
	return &p, nil
}

// columns is how many columns of v a program takes.
func (d Delta) columns() int { return min(d.Plan.Columns, d.V) }

// chunks is their number, the same in each segment: the last ones may be empty.
func (d Delta) chunks() int {
	n := d.C * d.segments()
	return (d.T + n - 1) / n * d.segments()
}

// name identifies a kernel of this shape.
func (d Delta) name(what string) string {
	s := fmt.Sprintf("kalmarz_%s_B%d_T%d_H%d_K%d_V%d_C%d_%s_plan", what, d.B, d.T, d.H, d.K, d.V, d.C, d.DType)
	s += numbered(d.Plan.numbers())
	for _, part := range []struct {
		has  bool
		name string
	}{{d.Erases && !d.Shared, "_erase"}, {d.Erases && d.Shared, "_erase_k"}, {d.Rated, "_rate"}, {d.Decays, "_decay"}, {d.Channels, "_channels"}} {
		if part.has {
			s += part.name
		}
	}
	return s
}

// precision is that of products of float32 numbers within a chunk.
func (d Delta) precision() Precision {
	if d.DType == F32 {
		return TF32x3
	}
	return TF32
}

// dot multiplies in the type of the inputs and sums in float32.
func (d Delta) dot(a, b *Tile) *Tile { return d.dotAdd(nil, a, b) }

func (d Delta) dotAdd(acc, a, b *Tile) *Tile {
	return DotAdd(acc, a.To(d.DType), b.To(d.DType), d.precision())
}

// The arrays, each under one name in all kernels.

func (d Delta) keys(k *Kernel, name string) *Memory { return k.In(name, d.DType, d.B, d.T, d.H, d.K) }

func (d Delta) logDecays(k *Kernel) *Memory { return k.In("g", F32, d.B, d.T, d.H, d.K) }

func (d Delta) values(k *Kernel, name string) *Memory { return k.In(name, d.DType, d.B, d.T, d.H, d.V) }

func (d Delta) numbers(k *Kernel, name string) *Memory { return k.In(name, F32, d.B, d.T, d.H) }

func (d Delta) stateDims() []int { return []int{d.B, d.H, d.K, d.V} }

func (d Delta) entryDims() []int { return []int{d.B, d.H, d.chunks(), d.K, d.V} }

func (d Delta) sumsDims() []int { return []int{d.B, d.H, d.chunks(), d.terms(), d.C} }

func (d Delta) inverseDims() []int { return []int{d.B, d.H, d.chunks(), d.C, d.C} }

// head is a program's batch row and head, from its place on the grid's axis.
func (d Delta) head(k *Kernel, axis int) (b, h *Tile) {
	bh := k.Program(axis)
	return bh.Div(d.H), bh.Mod(d.H)
}

// tokens are n tokens from a place in a chunk on, and which of them exist: nil
// for all.
func (d Delta) tokens(k *Kernel, chunk *Tile, from, n int) (t, exist *Tile) {
	t = chunk.Mul(d.C).Add(from).Add(k.Range(n))
	if d.T == d.chunks()*d.C {
		return t, nil
	}
	return t, t.Less(d.T)
}

// rows reads columns of tokens of one head: [n,columns]; tokens that do not
// exist are 0.
func rows(m *Memory, b, t, h, columns, exist *Tile) *Tile {
	return m.LoadIf(col(exist), b, t.Col(), h, columns.Row())
}

func setRows(m *Memory, value, b, t, h, columns, exist *Tile) {
	m.StoreIf(col(exist), value, b, t.Col(), h, columns.Row())
}

func col(mask *Tile) *Tile {
	if mask == nil {
		return nil
	}
	return mask.Col()
}

// scaled multiplies by a factor unless it is nil, which stands for 1.
func scaled(x, factor *Tile) *Tile {
	if factor == nil {
		return x
	}
	return x.Mul(factor)
}

// decay is exp(G_r - G_s) where r >= s + offset and 0 elsewhere, rows r and columns
// s. The exponent is chosen first: where s > r it would overflow.
func decay(k *Kernel, r, s sum, offset int) *Tile {
	n := r[0].Dims()[0]
	return decayed(k.Range(n).Col().AtLeast(k.Range(n).Row().Add(offset)), r.col(), s.row())
}

// decayT is the transpose of decay(k, G, G, 0).
func decayT(k *Kernel, G sum) *Tile {
	n := G[0].Dims()[0]
	return decayed(k.Range(n).Row().AtLeast(k.Range(n).Col()), G.row(), G.col())
}

func decayed(where *Tile, r, s sum) *Tile {
	return where.Where(where.Where(r.less(s), 0).Exp(), 0.0)
}
