package kernels

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// newScan describes a scan as kernels see it, or says why there are none.
func newScan(c cell, B, T, M, S, chunks int, dtype dtypes.DType, masked bool) (Scan, error) {
	f := Scan{B: B, T: T, M: M, S: S, Masked: masked, cell: c}
	name := c.arrays().name
	var err error
	if f.DType, err = typeOf(name, dtype); err != nil {
		return f, err
	}
	if S > 128 {
		return f, fmt.Errorf("kernels: %s: %d states: must be at most 128", name, S)
	}
	f.Plan = scanPlan(B, T, M, S, chunks)
	if n := max(B*T*M, B*f.blocks()*T*S, B*f.Plan.Chunks*f.turns()*M*S); n > math.MaxInt32 || B*f.Plan.Chunks > 65535 {
		return f, fmt.Errorf("kernels: %s: B=%d T=%d M=%d S=%d: an array would have 2^31 numbers or more, or there are more than 65535 rows and chunks", name, B, T, M, S)
	}
	return f, nil
}

// scanPlan fills a device: 128 lanes are a warp with four of them a thread, and
// chunks pay where there are too few warps for the tokens to run in one go. On an
// H200 the filter with 1024 channels of 16 states took, in float32,
//
//	B=8 T=2048     8,8,8,1 0.33 ms, 1.62 with gradients    8,4,8,2 0.62, 2.31
//	B=1 T=32768    8,4,8,8 1.57, 5.46 with gradients  8,4,8,4 2.94, 9.84
func scanPlan(B, T, M, S, chunks int) ScanPlan {
	p := ScanPlan{Channels: 8, Turn: 8, Chunks: chunks}
	for s := 16; s < S; s *= 2 {
		p.Channels /= 2
	}
	for s := 8; s >= S && p.Channels < 32; s /= 2 {
		p.Channels *= 2
	}
	p = p.tuned()
	if p.Chunks <= 0 {
		const enough, best, fewest = 512, 1024, 128 // programs, and tokens in a chunk
		p.Chunks = 1
		if n := B * ((M + p.Channels - 1) / p.Channels); n < enough {
			p.Chunks = max(p.Chunks, min(best/n, T/fewest, 64))
			for c := p.Chunks; c > p.Chunks/2; c-- { // tokens that are not there cost
				if T%(c*p.Turn) == 0 {
					p.Chunks = c
					break
				}
			}
		}
	}
	p.Chunks = min(p.Chunks, (T+p.Turn-1)/p.Turn)
	if p.Ahead == 0 {
		p.Ahead = min(p.Turn, 4)
		if p.Chunks == 1 {
			p.Ahead = min(p.Turn, 8)
		}
	}
	return p
}

var tunedScan atomic.Pointer[ScanPlan]

// TuneScan replaces the plan of all scans that are built from now on; nil restores
// the built-in ones. Zero fields stay as they are built in.
func TuneScan(p *ScanPlan) { tunedScan.Store(p) }

func (p ScanPlan) tuned() ScanPlan {
	t := tunedScan.Load()
	if t == nil {
		return p
	}
	for _, x := range []struct {
		to   *int
		from int
	}{{&p.Channels, t.Channels}, {&p.Ahead, t.Ahead}, {&p.Turn, t.Turn}, {&p.Chunks, t.Chunks}, {&p.Registers, t.Registers}} {
		if x.from > 0 {
			*x.to = x.from
		}
	}
	return p
}

// ParseScanPlan reads a plan's numbers with commas, in their order.
func ParseScanPlan(text string) (*ScanPlan, error) {
	var p ScanPlan
	n, _ := fmt.Sscanf(text, "%d,%d,%d,%d,%d", &p.Channels, &p.Ahead, &p.Turn, &p.Chunks, &p.Registers)
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	if n != 5 || !power(p.Channels) || !power(p.Ahead) || !power(p.Turn) || p.Turn < p.Ahead || min(p.Chunks, p.Registers) < 0 {
		return nil, fmt.Errorf("plan = %s: must be channels, tokens read ahead, tokens of a turn (powers of two, a turn no shorter than what is read ahead), chunks (0 = as many as fit) and registers of the reverse pass (0 = as many as it takes), as 8,4,8,1,0", text)
	}
	return &p, nil
}

// Pays tells whether the kernels are the better choice where nobody chose.
func (f Scan) Pays() bool { return f.T >= 256 && f.M*f.S >= 128 }

// Apply evaluates the scan in a graph of a backend with kernels, given its inputs
// in order: tokens in its type, all else float32. It returns the outputs and the
// last state.
func (f Scan) Apply(xs ...*graph.Node) (ys, last []*graph.Node) {
	a := f.cell.arrays()
	forward := shared(f, "forward", f.Forward)
	out := grad.CustomOf(xs, func(xs []*graph.Node) []*graph.Node {
		return forward.call(xs...)
	}, func(xs, ys, dys []*graph.Node) []*graph.Node {
		backward := shared(f, "backward", f.Backward)
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
		dxs := make([]*graph.Node, len(xs)) // none of the mask
		for i, d := range backward.call(in...) {
			switch x := xs[i]; {
			case d.Rank() == x.Rank():
				dxs[i] = d
			case x.Rank() == 2: // statics
				dxs[i] = graph.ReduceSum(d, 0, 1)
			default:
				dxs[i] = graph.ConvertDType(graph.ReduceSum(d, 1), x.DType())
			}
		}
		return dxs
	})
	n := len(a.outputs)
	return out[:n], out[n : n+len(a.first)]
}
