// Package delta evaluates the recurrence that nearly all linear-attention
// mixers share, in forms that agree: a plain float64 reference, a recurrent
// graph, a chunked graph and a single step.
//
// Per head and token, with the state S a K x V matrix (rows are key channels):
//
//	S̃_t = Diag(α_t) S_{t-1}        decay, α = exp(log-decay) in [0, 1]
//	u_t = z_t - S̃_tᵀ e_t           what is written: z less what e reads
//	S_t = S̃_t + k_t u_tᵀ
//	o_t = S_tᵀ q_t                  read after the write; q is scaled already
//
// It is Gated DeltaNet-2 (arXiv 2605.22791) in full; e = βk, z = βv give
// Gated DeltaNet (arXiv 2412.06464) and, without decay, DeltaNet
// (arXiv 2406.06484); a decay per key channel gives Kimi Delta Attention
// (arXiv 2510.26692); no e gives GLA (arXiv 2312.06635), Mamba-2
// (arXiv 2405.21060) and linear attention (arXiv 2006.16236).
//
// Shapes: B batch, T tokens, H heads, K key and V value width, C chunk length,
// N = ⌈T/C⌉ chunks.
package delta

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Inputs of the recurrence. All sequence inputs have one dtype; everything is
// computed and the state is kept in float32, or in float64 if they are float64.
type Inputs struct {
	Q, K     *Node // [B,T,H,K]
	Erase    *Node // [B,T,H,K], or nil: nothing is erased
	Write    *Node // [B,T,H,V]
	Rate     *Node // [B,T,H], or nil: u = rate (write - S̃ᵀ erase)
	LogDecay *Node // nil, [B,T,H] or [B,T,H,K]; at most 0
	State    *Node // [B,H,K,V], or nil for zeros
}

// Outputs of the recurrence: O and U in the dtype of the inputs.
type Outputs struct {
	O     *Node // [B,T,H,V]
	State *Node // [B,H,K,V]
	U     *Node // [B,T,H,V]
}

// Form says how the recurrence is evaluated; all forms give the same values.
type Form struct {
	Recurrent bool
	Chunk     int // chunk length of the chunked form, a power of two; 0 picks one, and Narrow too
	// Narrow keeps what lies between the products of bfloat16 inputs in bfloat16
	// too, as fused kernels do: on a GPU it spares half the traffic and uses the
	// fast units. Its results are off by about one rounding of each factor, 1e-2
	// where keys are nearly repeated; otherwise o and u are rounded once.
	Narrow bool

	// Kernel asks for fused kernels wherever the backend has them and they can take
	// the problem; otherwise the chunked form does. Where neither is asked for,
	// kernels run where they are known to be faster.
	Kernel bool
}

// Run evaluates the recurrence in the given form; a single token always takes
// a single step.
func Run(in Inputs, form Form) Outputs {
	T := in.check()
	if T == 1 || form.Recurrent {
		return Recurrent(in)
	}
	if k, ok := in.kernel(); ok && (form.Kernel || form.Chunk == 0 && k.Pays()) {
		return fused(in, k)
	}
	if form.Chunk == 0 {
		form.Chunk = defaultChunk(T, grad.PureGo(in.Q.Graph()))
		form.Narrow = grad.GPU(in.Q.Graph())
	}
	return chunked(in, form, in.base())
}

// defaultChunk is the chunk length used for T tokens: the smallest power of two
// that holds them, at most 64, where the products within a chunk begin to
// outweigh those between chunks; 32 on the pure-Go backend, which does not gain
// from larger products.
func defaultChunk(T int, pureGo bool) int {
	most := 64
	if pureGo {
		most = 32
	}
	c := 1
	for c < T && c < most {
		c *= 2
	}
	return c
}

// state returns the initial state in the dtype of the computation.
func (in Inputs) state() *Node {
	if in.State != nil {
		return grad.Wide(in.State)
	}
	q, v := grad.Wide(in.Q), in.Write.Shape()
	shape := q.Shape().Clone()
	shape.Dimensions = []int{v.Dim(0), v.Dim(2), q.Shape().Dim(3), v.Dim(3)}
	return Zeros(in.Q.Graph(), shape)
}

// check panics on shapes that do not fit, naming the input, and returns T.
func (in Inputs) check() int {
	if in.Q == nil || in.K == nil || in.Write == nil {
		exceptions.Panicf("delta: q, k and write must be given")
	}
	if in.Q.Rank() != 4 || in.Write.Rank() != 4 || in.Q.Shape().Size() == 0 || in.Write.Shape().Size() == 0 {
		exceptions.Panicf("delta: q %s, write %s: must be [B,T,H,K] and [B,T,H,V] with no empty axis", in.Q.Shape(), in.Write.Shape())
	}
	d := in.Q.Shape().Dimensions
	B, T, H, K, V := d[0], d[1], d[2], d[3], in.Write.Shape().Dim(3)
	for _, x := range []struct {
		name string
		node *Node
		dims [][]int
	}{
		{"k", in.K, [][]int{{B, T, H, K}}},
		{"erase", in.Erase, [][]int{{B, T, H, K}}},
		{"write", in.Write, [][]int{{B, T, H, V}}},
		{"rate", in.Rate, [][]int{{B, T, H}}},
		{"log-decay", in.LogDecay, [][]int{{B, T, H}, {B, T, H, K}}},
		{"state", in.State, [][]int{{B, H, K, V}}},
	} {
		if x.node == nil {
			continue
		}
		ok := false
		for _, dims := range x.dims {
			ok = ok || x.node.Shape().CheckDims(dims...) == nil
		}
		if !ok {
			exceptions.Panicf("delta: %s is %s, expected dimensions %v (q is %s)", x.name, x.node.Shape(), x.dims, in.Q.Shape())
		}
		if x.name != "state" && x.name != "log-decay" && x.name != "rate" && x.node.DType() != in.Q.DType() {
			exceptions.Panicf("delta: %s is %s, expected the dtype of q, %s", x.name, x.node.DType(), in.Q.DType())
		}
	}
	return T
}
