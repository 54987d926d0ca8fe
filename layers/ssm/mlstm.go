package ssm

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// MLSTMInputs of the mLSTM (arXiv 2405.04517), a matrix memory with an
// exponential input gate, all of one dtype:
//
//	m_t = max(ln σ(f_t) + m_{t-1}, i_t)                   running maximum
//	f'  = exp(ln σ(f_t) + m_{t-1} - m_t)    i' = exp(i_t - m_t)
//	C_t = f' C_{t-1} + i' k_t v_tᵀ          n_t = f' n_{t-1} + i' k_t
//	h_t = C_tᵀ q_t / (max(|n_t·q_t|, exp(-m_t)) + 1e-6)
//
// Both gates are at most 1, and the maximum cancels in h but for the 1e-6. A
// token whose gates are i = -1e9, f = 1e9 is padding.
type MLSTMInputs struct {
	Q, K          *Node // [B,T,H,K]; queries are scaled already
	V             *Node // [B,T,H,V]
	Input, Forget *Node // [B,T,H], before their exponential and sigmoid
	State         MLSTMState
}

// MLSTMState is C, n and m; nil arrays stand for zeros.
type MLSTMState struct {
	Memory *Node // [B,H,K,V]
	Norm   *Node // [B,H,K]
	Max    *Node // [B,H]
}

// MLSTM returns h [B,T,H,V] in the dtype of q and the state after the last
// token. The memory runs in the given form; the running maximum, one number a
// token and head, by the given plan.
func MLSTM(in MLSTMInputs, form delta.Form, plan scan.Plan) (h *Node, state MLSTMState) {
	d := in.check()
	dtype := in.Q.DType()
	q, k, v := grad.Wide(in.Q), grad.Wide(in.K), grad.Wide(in.V)
	input, forget := grad.Wide(in.Input), grad.LogSigmoid(grad.Wide(in.Forget))
	memory, norm, first := in.start()

	m, last := scan.MaxPlus(forget, input, first, plan)
	decay := Sub(Add(forget, scan.Exclusive(m, first)), m)
	k = Mul(k, InsertAxes(Exp(Sub(input, m)), -1))
	// n is one more column of C, written with ones.
	one := OnesLike(input)
	out := delta.Run(delta.Inputs{Q: q, K: k, Write: Concatenate([]*Node{v, InsertAxes(one, -1)}, -1),
		LogDecay: decay, State: Concatenate([]*Node{memory, InsertAxes(norm, -1)}, -1)}, form)
	o := apart(grad.Cut(out.O, 3, d.V, 1))
	scale := AddScalar(Max(Abs(o[1]), InsertAxes(Exp(Neg(m)), -1)), 1e-6)
	parts := grad.Cut(out.State, 3, d.V, 1)
	return ConvertDType(Div(o[0], scale), dtype), MLSTMState{parts[0], Squeeze(parts[1], -1), last}
}

// apart keeps a compiler from fusing what comes after arrays with what came before,
// backward too: XLA for CUDA fails on a normalisation's gradient beside a
// concatenation of 128 columns and one.
func apart(xs []*Node) []*Node {
	return grad.Custom(xs, func(xs []*Node) []*Node { return xs }, func(_, _, dys []*Node) []*Node { return OptimizationBarriers(dys...) })
}

type heads struct{ B, T, H, K, V int }

func (in MLSTMInputs) check() heads {
	s := sizes{who: "mlstm"}
	if in.Q == nil || in.V == nil || in.Q.Rank() != 4 || in.V.Rank() != 4 {
		s.check("q [B,T,H,K]", nil)
	}
	d := heads{in.Q.Shape().Dim(0), in.Q.Shape().Dim(1), in.Q.Shape().Dim(2), in.Q.Shape().Dim(3), in.V.Shape().Dim(3)}
	s.check("k", in.K, d.B, d.T, d.H, d.K)
	s.check("v", in.V, d.B, d.T, d.H, d.V)
	s.check("input", in.Input, d.B, d.T, d.H)
	s.check("forget", in.Forget, d.B, d.T, d.H)
	for _, x := range []struct {
		name string
		node *Node
		dims []int
	}{{"state memory", in.State.Memory, []int{d.B, d.H, d.K, d.V}}, {"state norm", in.State.Norm, []int{d.B, d.H, d.K}}, {"state max", in.State.Max, []int{d.B, d.H}}} {
		if x.node != nil {
			s.check(x.name, x.node, x.dims...)
		}
	}
	return d
}

// start returns the state with zeros for what is missing.
func (in MLSTMInputs) start() (memory, norm, first *Node) {
	q := grad.Wide(in.Q)
	B, H, K, V := q.Shape().Dim(0), q.Shape().Dim(2), q.Shape().Dim(3), in.V.Shape().Dim(3)
	or := func(x *Node, dims ...int) *Node {
		if x != nil {
			return grad.Wide(x)
		}
		return BroadcastToDims(ScalarZero(q.Graph(), q.DType()), dims...)
	}
	return or(in.State.Memory, B, H, K, V), or(in.State.Norm, B, H, K), or(in.State.Max, B, H)
}
