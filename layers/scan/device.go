package scan

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Device is what a scan is built for. The values are the same on all of them;
// what differs is which operations are cheap.
type Device uint8

const (
	// PureGo is GoMLX's own backend: each operation is a pass over its arrays,
	// products of matrices are fast, broadcasts and sums slow.
	PureGo Device = iota + 1
	// CPU is XLA on a CPU: operations fuse, but a value that is used by several
	// fusions is computed in each of them.
	CPU
	// GPU is XLA on a GPU: the number of kernels counts, and float32 products
	// are rounded to tf32 unless told otherwise, so sums are not products there.
	GPU
)

type deviceKey struct{}

// BuildFor makes all later scans in the graph be built for a device, whatever
// the graph runs on.
func BuildFor(g *Graph, d Device) { g.AttachState(deviceKey{}, d) }

// deviceOf returns the device that x's graph is built for.
func deviceOf(x *Node) Device {
	g := x.Graph()
	if d, ok := g.State(deviceKey{}).(Device); ok {
		return d
	}
	switch {
	case grad.PureGo(g):
		return PureGo
	case grad.GPU(g):
		return GPU
	}
	return CPU
}

// once keeps a compiler from computing an array again in each of its uses.
func (r *run) once(xs []*Node) []*Node {
	if r.device != CPU {
		return xs
	}
	return OptimizationBarriers(xs...)
}
