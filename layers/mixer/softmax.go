package mixer

// Softmax attention, arXiv 1706.03762: o_t = Σ_{s<=t} softmax_s(q_t·k_s/√K) v_s
// (package attention), with rotary positions or none, an optional window (keys in
// (t-w, t]), fewer key than query heads (arXiv 2305.13245), optional RMSNorm on
// queries and keys and an optional output gate.
//
// The cache holds the last L keys and values, newest last, so that its shape is
// fixed and no write needs a place that is known only when it runs; the first
// L - t of its rows are empty at token t and are masked.

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/attention"
	"github.com/kalmarz/kalmarz/layers/option"
)

var softmaxKind = &Kind{
	Name: "softmax", Paper: "1706.03762", Doc: "softmax attention with a key-value cache",
	Options: join(option.Set{
		{Name: "heads", Kind: option.Int, Default: 4, Range: [2]float64{1, 1024}, Help: "query heads"},
		{Name: "kv_heads", Kind: option.Int, Default: 0, Range: [2]float64{0, 1024}, Help: "key and value heads; 0 = heads"},
		{Name: "dk", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 20}, Help: "width of a head; 0 = model width / heads"},
		{Name: "window", Kind: option.Int, Default: 0, Range: [2]float64{0, 1 << 30}, Help: "keys seen, the own one included; 0 = all"},
		{Name: "qk_norm", Kind: option.Bool, Default: false, Help: "RMSNorm on queries and keys"},
		{Name: "gate", Kind: option.Bool, Default: false, Help: "sigmoid gate on the output"},
	}, rotaryOptions(true, 1e4)),
	New: newSoftmax,
}

type softmax struct {
	d, heads, kv, dk, window int
	o                        option.Values
}

func newSoftmax(d int, o option.Values) (Layer, error) {
	l := &softmax{d: d, heads: o.Int("heads"), kv: o.Int("kv_heads"), dk: o.Int("dk"), window: o.Int("window"), o: o}
	if l.kv == 0 {
		l.kv = l.heads
	}
	if l.heads%l.kv != 0 {
		return nil, fmt.Errorf("kv_heads = %d: must divide heads = %d", l.kv, l.heads)
	}
	var err error
	if l.dk, err = headWidth("dk", l.dk, d, 1, l.heads); err == nil && o.Bool("rope") {
		err = evenWidth(l.dk)
	}
	return l, err
}

func (l *softmax) Value() (heads, width int) { return l.kv, l.dk }

func (l *softmax) Slots(length int) []Slot {
	if l.window > 0 {
		length = min(length, l.window-1)
	}
	cache := []int{max(length, 1), l.kv, l.dk}
	return []Slot{{Name: "k", Dims: cache}, {Name: "v", Dims: cache}, {Name: "t"}}
}

func (l *softmax) Apply(c *Context, x *Node) *Node {
	T := x.Shape().Dim(1)
	q := Heads(c.Linear("q_proj", x, l.heads*l.dk, false), l.heads)
	k := Heads(c.Linear("k_proj", x, l.kv*l.dk, false), l.kv)
	v := c.value(Heads(c.Linear("v_proj", x, l.kv*l.dk, false), l.kv))
	if l.o.Bool("qk_norm") {
		q, k = c.Norm("q_norm", q, 1e-5), c.Norm("k_norm", k, 1e-5)
	}
	filled := c.Carried("t")
	t := c.positions(T)
	if l.o.Bool("rope") {
		theta := l.o.Float("theta")
		q, k = Rotate(q, t, theta), Rotate(k, t, theta)
	}
	k, v = l.remember(c, "k", k), l.remember(c, "v", v)
	in := attention.Inputs{Q: q, K: k, V: v, Window: l.window}
	if !c.Fresh() {
		in.First = AddScalar(Neg(filled), float64(k.Shape().Dim(1)-T))
	}
	y := Merge(attention.Run(in, attentionForm(c.Form)))
	if l.o.Bool("gate") {
		y = Mul(y, Sigmoid(c.Linear("g_proj", x, l.heads*l.dk, false)))
	}
	return c.Linear("o_proj", y, l.d, false)
}

// remember appends x [B,T,H,K] to the cache, keeps its newest rows, and returns
// all rows that this call can see.
func (l *softmax) remember(c *Context, name string, x *Node) *Node {
	if !c.Fresh() {
		x = Concatenate([]*Node{ConvertDType(c.Carried(name), x.DType()), x}, 1)
	}
	room := c.room(name)
	S := x.Shape().Dim(1)
	kept := SliceAxis(x, 1, AxisRange(max(S-room, 0), S))
	c.Keep(name, ConvertDType(kept, wide(c.Set.DType)))
	return x
}

// room is the number of rows of a cache: the incoming state's, or at the start
// of a sequence that of the declared slot.
func (c *Context) room(name string) int {
	if n := c.in[name]; n != nil {
		return n.Shape().Dim(1)
	}
	for _, s := range c.slots {
		if s.Name == name {
			return s.Dims[0]
		}
	}
	return 0
}
