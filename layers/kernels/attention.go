package kernels

// Causal softmax attention that never holds the scores of all pairs
// (FlashAttention, arXiv 2205.14135, 2307.08691). With x_ts = c q_t·k_s for the keys
// s in (t-w, t] that token t sees, and c the scale times log₂ e:
//
//	L_t = log₂ Σ_s 2^x_ts     o_t = Σ_s 2^(x_ts - L_t) v_s
//
// A program takes a block of queries of one head and walks over blocks of keys. It
// carries the largest x so far, m, the sum l of 2^(x-m), and a = Σ_s 2^(x-m) v_s,
// which a block with a larger m' scales down:
//
//	p = 2^(x-m')     l <- 2^(m-m') l + Σ_s p     a <- 2^(m-m') a + p v
//
// At the end o = a/l and L = m + log₂ l. Only keys that the diagonal or the window's
// edge crosses are masked. Several query heads may read one key head: head
// h reads h J/H.
//
//	q, o [B,T,H,K]     k, v [B,T,J,K]     L [B,H,T]

import (
	"fmt"
	"math"
	"sync/atomic"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

var attentionEntry = Entry{
	Name:     "attention",
	Replaces: "softmax attention at the start of a sequence",
	Range:    "widths of a head 16, 32, 64, 128 and, for bfloat16, 256; bfloat16 and float32",
	Pays:     "bfloat16, widths of a head 64, 128 and 256, from 256 tokens on",
	Tolerance: map[DType]Tolerance{
		BF16: {Value: 1e-2, Gradient: 2e-2},
		F32:  {Value: 2e-5, Gradient: 2e-4},
	},
}

// Attention is the shape of a problem; its methods are the kernels.
type Attention struct {
	B, T, H, J, K int     // J key heads
	Window        int     // keys seen, the own one included; 0 for all
	Scale         float64 // of q·k
	DType         DType
	Plan          AttentionPlan
}

// AttentionPlan says how the work is cut, which changes nothing but speed.
type AttentionPlan struct {
	Forward Cut // of queries; a turn takes keys
	Queries Cut // the same for their gradient
	Keys    Cut // of keys, for the gradients of k and v; a turn takes queries
}

// Cut is how one kernel is cut.
type Cut struct {
	Rows   int // of a program
	Turn   int // tokens of a turn of its loop
	Warps  int
	Stages int // turns that it holds in shared memory

	Registers int // bound of a thread, 0 for none
}

// attentionPlan is what compilers for Hopper devices keep in registers and shared
// memory. Where registers are short, a bound on them included, they wait for each
// product of tiles by itself, which costs more than a second program brings. On an
// H200 none of nine others was faster at width 128.
func attentionPlan(K int, dtype DType) AttentionPlan {
	all := func(c Cut) AttentionPlan { return AttentionPlan{c, c, c} }
	switch {
	case tunedAttention.Load() != nil:
		return *tunedAttention.Load()
	case dtype == F32 && K > 64:
		return AttentionPlan{Forward: Cut{32, 32, 4, 2, 0}, Queries: Cut{32, 32, 8, 2, 0}, Keys: Cut{32, 32, 8, 2, 0}}
	case dtype == F32:
		return all(Cut{64, 32, 4, 2, 0})
	case K > 128:
		return AttentionPlan{Forward: Cut{128, 32, 8, 2, 0}, Queries: Cut{128, 32, 8, 2, 0}, Keys: Cut{64, 32, 8, 2, 0}}
	case K > 64:
		return AttentionPlan{Forward: Cut{128, 64, 8, 3, 0}, Queries: Cut{64, 64, 4, 2, 0}, Keys: Cut{64, 64, 4, 2, 0}}
	}
	return AttentionPlan{Forward: Cut{128, 64, 8, 2, 128}, Queries: Cut{128, 64, 8, 2, 128}, Keys: Cut{64, 64, 4, 2, 0}}
}

var tunedAttention atomic.Pointer[AttentionPlan]

// TuneAttention replaces the plan of all problems that are built from now on; nil
// restores the built-in ones.
func TuneAttention(p *AttentionPlan) { tunedAttention.Store(p) }

// numbers are the plan's, in their order.
func (p *AttentionPlan) numbers() (ns []*int) {
	for _, c := range []*Cut{&p.Forward, &p.Queries, &p.Keys} {
		ns = append(ns, &c.Rows, &c.Turn, &c.Warps, &c.Stages, &c.Registers)
	}
	return ns
}

// ParseAttentionPlan reads a plan's numbers with commas, in their order.
func ParseAttentionPlan(text string) (*AttentionPlan, error) {
	var p AttentionPlan
	ns := p.numbers()
	if !parseNumbers(text, ns, func(i, n int) bool {
		return n >= []int{16, 16, 1, 1, 0}[i%5] && (i%5 > 2 || n&(n-1) == 0)
	}) {
		return nil, fmt.Errorf("plan = %s: must be %d whole numbers with commas: rows of a program and tokens of a turn (powers of two, at least 16), warps (a power of two), stages and the registers of a thread (0 = as many as it takes), of the forward pass, the gradient of q and those of k and v", text, len(ns))
	}
	return &p, nil
}

// name identifies a kernel of this shape.
func (a Attention) name(what string) string {
	return fmt.Sprintf("kalmarz_attention_%s_B%d_T%d_H%d_J%d_K%d_window%d_scale%x_%s_plan", what, a.B, a.T, a.H, a.J, a.K, a.Window, math.Float64bits(a.Scale), a.DType) + numbered(a.Plan.numbers())
}

// c takes q·k to the exponents of 2.
func (a Attention) c() float64 { return a.Scale * math.Log2E }

// dot multiplies in the type of the inputs and sums in float32.
func (a Attention) dot(acc, x, y *Tile) *Tile {
	return DotAdd(acc, x.To(a.DType), y.To(a.DType), TF32x3)
}

// The arrays, each under one name in all kernels.

func (a Attention) queries(k *Kernel, name string) *Memory {
	return k.In(name, a.DType, a.B, a.T, a.H, a.K)
}

func (a Attention) keys(k *Kernel, name string) *Memory {
	return k.In(name, a.DType, a.B, a.T, a.J, a.K)
}

func (a Attention) numbers(k *Kernel, name string) *Memory { return k.In(name, F32, a.B, a.H, a.T) }

// head is a program's batch row and head, of n heads.
func (a Attention) head(k *Kernel, n int) (b, h *Tile) {
	bh := k.Program(1)
	return bh.Div(n), bh.Mod(n)
}

// blocks is how many programs take the tokens of one head.
func (a Attention) blocks(c Cut) int { return (a.T + c.Rows - 1) / c.Rows }

// tokens are n tokens from a place on, and which of them exist: nil for all.
func (a Attention) tokens(k *Kernel, from *Tile, n int) (t, exist *Tile) {
	t = from.Add(k.Range(n))
	if a.T%n == 0 {
		return t, nil
	}
	return t, t.Less(a.T)
}

// seen tells which keys s are seen by queries t, one of them a column and the other
// a row.
func (a Attention) seen(t, s *Tile) *Tile {
	seen := t.AtLeast(s)
	if a.Window > 0 {
		seen = seen.And(s.AtLeast(t.Sub(a.Window - 1)))
	}
	return seen
}

// visit is a turn of a loop over blocks of tokens; where a block is crossed, not all
// of its pairs are seen.
type visit func(first *Tile, crossed bool, carry []*Tile) []*Tile

// overKeys walks over the keys that the queries of a program see: by turns of n
// keys, of which only those at the window's edge and on the diagonal are crossed.
func (a Attention) overKeys(k *Kernel, c Cut, first *Tile, carry []*Tile, turn visit) []*Tile {
	end := first.Add(c.Rows)
	diagonal, last := first.Add(1).Div(c.Turn), end.Min(a.T).Add(c.Turn-1).Div(c.Turn)
	if a.Window == 0 {
		carry = a.walk(k, c, k.Full(I32, 0), diagonal, false, carry, turn)
	} else {
		from := first.Sub(a.Window - 1).Max(0).Div(c.Turn)
		whole := end.Sub(a.Window).Max(0).Add(c.Turn - 1).Div(c.Turn).Min(diagonal)
		carry = a.walk(k, c, from, whole, true, carry, turn)
		carry = a.walk(k, c, whole, diagonal, false, carry, turn)
	}
	return a.walk(k, c, diagonal, last, true, carry, turn)
}

// overQueries walks over the queries that see the keys of a program. All count as
// crossed: masks cost less than a second loop, in which compilers wait for each
// product of tiles by itself.
func (a Attention) overQueries(k *Kernel, c Cut, first *Tile, carry []*Tile, turn visit) []*Tile {
	end, last := first.Add(c.Rows), (a.T+c.Turn-1)/c.Turn
	to := k.Full(I32, float64(last))
	if a.Window > 0 {
		to = end.Add(a.Window + c.Turn - 2).Div(c.Turn).Min(last)
	}
	return a.walk(k, c, first.Div(c.Turn), to, true, carry, turn)
}

func (a Attention) walk(k *Kernel, c Cut, from, to *Tile, crossed bool, carry []*Tile, turn visit) []*Tile {
	return k.Loop(from, to, c.Stages, carry, func(i *Tile, carry []*Tile) []*Tile {
		return turn(i.Mul(c.Turn), crossed, carry)
	})
}
