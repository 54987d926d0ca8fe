package kernels

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/triton"
)

var kalmanEntry = Entry{
	Name:     "kalman",
	Replaces: "the scan of the Kalman filter",
	Range:    "up to 128 states a channel; bfloat16 and float32",
	Pays:     "sequences of 32 tokens or more",
	Tolerance: map[triton.DType]Tolerance{
		triton.BF16: {Value: 1e-2, Gradient: 2e-2},
		triton.F32:  {Value: 5e-6, Gradient: 5e-5},
	},
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

var tunedKalman atomic.Pointer[KalmanPlan]

// TuneKalman replaces the plan of all filters that are built from now on; nil
// restores the built-in ones. Zero fields stay as they are built in.
func TuneKalman(p *KalmanPlan) { tunedKalman.Store(p) }

// ParseKalmanPlan reads a plan's numbers with commas, in their order.
func ParseKalmanPlan(text string) (*KalmanPlan, error) {
	var p KalmanPlan
	n, _ := fmt.Sscanf(text, "%d,%d,%d,%d", &p.Channels, &p.Ahead, &p.Turn, &p.Chunks)
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	if n != 4 || !power(p.Channels) || !power(p.Ahead) || !power(p.Turn) || p.Turn < p.Ahead || p.Chunks < 0 {
		return nil, fmt.Errorf("plan = %s: must be channels, tokens read ahead, tokens of a turn (powers of two, a turn no shorter than what is read ahead) and chunks (0 = as many as fit), as 8,4,8,1", text)
	}
	return &p, nil
}

// kalmanPlan fills a device: 128 lanes are a warp with four of them a thread, and
// chunks pay where there are too few warps for the tokens to run in one go.
func kalmanPlan(B, T, M, S, chunks int) KalmanPlan {
	p := KalmanPlan{Channels: 8, Ahead: 4, Turn: 8, Chunks: chunks}
	for s := 16; s < S && p.Channels > 1; s *= 2 {
		p.Channels /= 2
	}
	for s := 8; s >= S && p.Channels < 32; s /= 2 {
		p.Channels *= 2
	}
	if t := tunedKalman.Load(); t != nil {
		for _, x := range []struct {
			to   *int
			from int
		}{{&p.Channels, t.Channels}, {&p.Ahead, t.Ahead}, {&p.Turn, t.Turn}, {&p.Chunks, t.Chunks}} {
			if x.from > 0 {
				*x.to = x.from
			}
		}
	}
	if p.Chunks <= 0 {
		const enough, best, least = 512, 2048, 128 // programs, and tokens in a chunk
		p.Chunks = 1
		if n := B * ((M + p.Channels - 1) / p.Channels); n < enough {
			p.Chunks = max(1, min(best/n, T/least, 64))
		}
	}
	p.Chunks = min(p.Chunks, (T+p.Turn-1)/p.Turn)
	return p
}

// NewKalman describes a filter as kernels see it, or says why there are none.
// Chunks are those of the sequence that run side by side; 0 chooses.
func NewKalman(B, T, M, S, chunks int, dtype dtypes.DType, parts KalmanParts) (Kalman, error) {
	f := Kalman{B: B, T: T, M: M, S: S, KalmanParts: parts}
	switch dtype {
	case dtypes.BFloat16:
		f.DType = triton.BF16
	case dtypes.Float32:
		f.DType = triton.F32
	default:
		return f, fmt.Errorf("kernels: kalman: %s: must be bfloat16 or float32", dtype)
	}
	if S > 128 {
		return f, fmt.Errorf("kernels: kalman: %d states: must be at most 128", S)
	}
	f.Plan = kalmanPlan(B, T, M, S, chunks)
	if n := max(B*T*M, B*f.blocks()*T*S, B*f.Plan.Chunks*f.turns()*M*S); n > math.MaxInt32 || B*f.Plan.Chunks > 65535 {
		return f, fmt.Errorf("kernels: kalman: B=%d T=%d M=%d S=%d: an array would have 2^31 numbers or more, or there are more than 65535 rows and chunks", B, T, M, S)
	}
	return f, nil
}

// Pays tells whether the kernels are the better choice where nobody chose.
func (f Kalman) Pays() bool { return f.T >= 32 && f.M*f.S >= 128 }

// Apply evaluates the filter in a graph of a backend with kernels. Shapes are those
// of kalman.Inputs; a, p, λ, η and the mask, which may be nil, are float32. yVar is
// nil unless it is asked for.
func (f Kalman) Apply(v, precision, k, q, a, p, lambda, eta, mask *graph.Node) (y, yVar, lastLambda, lastEta *graph.Node) {
	xs := []*graph.Node{v, precision, k, q, a, p, lambda, eta}
	if f.Masked {
		xs = append(xs, mask)
	}
	forward, backward := f.Forward(), f.Backward()
	out := grad.CustomOf(xs, func(xs []*graph.Node) []*graph.Node {
		return forward.call(xs...)
	}, func(xs, ys, dys []*graph.Node) []*graph.Node {
		all := map[string]*graph.Node{}
		for i, x := range xs {
			all[forward.In[i].Name] = x
		}
		for i, y := range ys {
			name := forward.Out[i].Name
			all[name], all["d"+name] = y, dys[i]
			if dys[i] == nil {
				all["d"+name] = graph.ZerosLike(y)
			}
		}
		var in []*graph.Node
		for _, x := range backward.In {
			in = append(in, all[x.Name])
		}
		d := map[string]*graph.Node{}
		for i, x := range backward.call(in...) {
			d[backward.Out[i].Name] = x
		}
		sum := func(name string, like *graph.Node, axes ...int) *graph.Node {
			return graph.ConvertDType(graph.ReduceSum(d[name], axes...), like.DType())
		}
		dxs := []*graph.Node{d["dv"], d["dprecision"], sum("dk_parts", k, 1), sum("dq_parts", q, 1), sum("da_parts", a, 0, 1), sum("dp_parts", p, 0, 1), d["dlambda"], d["deta"]}
		if f.Masked {
			dxs = append(dxs, nil)
		}
		return dxs
	})
	if f.Variance {
		yVar = out[3]
	}
	return out[0], yVar, out[1], out[2]
}
