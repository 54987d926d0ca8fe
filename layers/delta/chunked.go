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
//
// In the narrow form what is stored and multiplied is bfloat16; sums, decays, the
// inverse and the state that is handed on are float32.

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// base is the block length below which pairs are computed directly. With one
// number a pair that costs a product, and a compiler takes the whole chunk; the
// pure-Go backend only has to be spared tiny products. With a number a channel
// the direct form costs an exponential for each, which only a compiler that
// fuses makes worth while (B8 T128 H2 K32 C32, forward and backward: pure Go
// 26 ms at 1, 45 ms at 8; XLA on a CPU 53 ms at 16, 15 ms at 8).
func (in Inputs) base() int {
	pureGo := grad.PureGo(in.Q.Graph())
	switch perChannel := in.LogDecay != nil && in.LogDecay.Rank() == 4; {
	case perChannel && pureGo:
		return 1
	case perChannel || pureGo:
		return 8
	}
	return 64
}

// chunked evaluates the recurrence in chunks of form.Chunk tokens, a power of
// two. A ragged tail is filled with tokens that neither decay, erase nor write.
func chunked(in Inputs, form Form, base int) Outputs {
	T, C := in.check(), form.Chunk
	in = in.Unrated()
	if C < 1 || C&(C-1) != 0 {
		exceptions.Panicf("delta: chunk = %d: must be a power of two", C)
	}
	l := layout{B: in.Q.Shape().Dim(0), T: T, H: in.Q.Shape().Dim(2), C: C, N: wholeTurns((T + C - 1) / C)}
	l.dtype = grad.Wide(in.Q).DType()
	if form.Narrow {
		l.dtype = in.Q.DType()
	}
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
		yu := grad.WideBMM(grad.NN, l.narrow(c.inverse), Concatenate([]*Node{c.sinceEntry(e), z}, -1))
		parts := grad.Cut(l.narrow(yu), 2, k.Shape().Dim(2), z.Shape().Dim(2))
		y, u = parts[0], parts[1]
	}
	entry, last, v := l.carry(y, u, c.untilExit(k), c.total(), in.state())
	o := Add(grad.WideBMM(grad.NN, c.sinceEntry(q), entry), grad.WideBMM(grad.NN, l.narrow(c.p), v))
	out := func(x *Node) *Node { return l.join(ConvertDType(x, in.Q.DType())) }
	return Outputs{O: out(o), State: last, U: out(v)}
}

// layout maps between [B,T,H,D] and [N·B·H,C,D].
type layout struct {
	B, T, H, C, N int
	dtype         dtypes.DType // of what is stored
}

func (l layout) narrow(x *Node) *Node { return ConvertDType(x, l.dtype) }

func (l layout) split(x *Node) *Node {
	d := x.Shape().Dim(-1)
	x = grad.PadTo(l.narrow(x), 1, l.N*l.C)
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
	l.dtype = grad.Wide(g).DType()
	return MaxScalar(l.split(g), forgotten)
}
