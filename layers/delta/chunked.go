package delta

// The chunked form: within a chunk of C tokens everything is matrix products,
// between chunks only the state is handed on. With G_r = Σ_{i<=r} g_i inside
// the chunk, γ_r = exp(G_r) and S the state on entry:
//
//	T_rs = Σ_d e_rd exp(G_rd - G_sd) k_sd    s < r
//	P_rs = Σ_d q_rd exp(G_rd - G_sd) k_sd    s <= r
//	[Y U] = (I+T)⁻¹ [γ∘E  Z]
//	V = U - Y S                              row r is u_r
//	O = (γ∘Q) S + P V
//	S' = γ_C∘S + (exp(G_C - G)∘K)ᵀ V
//
// Arrays are laid out [R,C,·] with R = N·B·H, chunks outermost, so that one
// chunk of all heads is contiguous.

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Chunked evaluates the recurrence in chunks of C tokens, a power of two. A
// ragged tail is filled with tokens that neither decay, erase nor write.
func Chunked(in Inputs, C int) Outputs { return chunked(in, C, in.base()) }

// base is the block length below which pairs are computed directly. One number
// a pair is cheap, so there it only has to spare tiny products; with a number a
// channel the direct form costs an exponential for each, which only a compiler
// that fuses makes worth while (B8 T128 H2 K32 C32, forward and backward: pure
// Go 26 ms at 1, 45 ms at 8; XLA on a CPU 53 ms at 16, 15 ms at 8).
func (in Inputs) base() int {
	if in.LogDecay != nil && in.LogDecay.Rank() == 4 && grad.PureGo(in.Q.Graph()) {
		return 1
	}
	return 8
}

func chunked(in Inputs, C, base int) Outputs {
	T := in.check()
	in = in.unrated()
	if C < 1 || C&(C-1) != 0 {
		exceptions.Panicf("delta: chunk = %d: must be a power of two", C)
	}
	l := layout{B: in.Q.Shape().Dim(0), T: T, H: in.Q.Shape().Dim(2), C: C, N: (T + C - 1) / C}
	dtype := in.Q.DType()
	q, k, z := l.split(in.Q), l.split(in.K), l.split(in.Write)
	var e *Node
	if in.Erase != nil {
		e = l.split(in.Erase)
	}
	g := l.decay(in.LogDecay)
	c := within(q, k, e, g, base)

	var y *Node
	u := z
	if e != nil {
		yu := grad.BMM(c.inverse, Concatenate([]*Node{c.sinceEntry(e), z}, -1))
		parts := grad.Cut(yu, 2, k.Shape().Dim(2), z.Shape().Dim(2))
		y, u = parts[0], parts[1]
	}
	entry, last, v := l.carry(y, u, c.untilExit(k), c.total(), in.state())
	o := Add(grad.BMM(c.sinceEntry(q), entry), grad.BMM(c.p, v))
	return Outputs{
		O:     ConvertDType(l.join(o), dtype),
		State: last,
		U:     ConvertDType(l.join(v), dtype),
	}
}

// layout maps between [B,T,H,D] and [N·B·H,C,D].
type layout struct{ B, T, H, C, N int }

func (l layout) split(x *Node) *Node {
	d := x.Shape().Dim(-1)
	x = grad.PadTo(grad.Wide(x), 1, l.N*l.C)
	x = Reshape(x, l.B, l.N, l.C, l.H, d)
	return Reshape(TransposeAllAxes(x, 1, 0, 3, 2, 4), l.N*l.B*l.H, l.C, d)
}

func (l layout) join(x *Node) *Node {
	d := x.Shape().Dim(-1)
	x = TransposeAllAxes(Reshape(x, l.N, l.B, l.H, l.C, d), 1, 0, 3, 2, 4)
	x = Reshape(x, l.B, l.N*l.C, l.H, d)
	if l.N*l.C == l.T {
		return x
	}
	return grad.Cut(x, 1, l.T, l.N*l.C-l.T)[0]
}

// forgotten is a log-decay after which nothing is left in any float type, yet
// of which a chunk's sum stays finite.
const forgotten = -1e4

// decay returns the log-decays [R,C,1] or [R,C,K], or nil.
func (l layout) decay(g *Node) *Node {
	if g == nil {
		return nil
	}
	if g.Rank() == 3 {
		g = InsertAxes(g, -1)
	}
	return MaxScalar(l.split(g), forgotten)
}
