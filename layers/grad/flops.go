package grad

import . "github.com/gomlx/gomlx/core/graph"

// ProductFLOPs counts the matrix products of a graph, two operations for each
// multiplication and addition, those in a Loop once a turn, and those noted by
// CountProducts. All products must be batches of matrices.
func ProductFLOPs(g *Graph) float64 {
	loops, _ := g.State(loopsKey{}).([]span)
	sum, _ := g.State(countedKey{}).(float64)
	for i, n := range g.Nodes() {
		if n.Type() != NodeTypeDotGeneral {
			continue
		}
		out := n.Shape()
		inner := n.Inputs()[0].Shape().Size() / (out.Dim(0) * out.Dim(1))
		work := 2 * float64(out.Size()) * float64(inner)
		for _, l := range loops {
			if i >= l.from && i < l.to {
				work *= float64(l.turns)
			}
		}
		sum += work
	}
	return sum
}

// span is the nodes of a loop's body.
type span struct{ from, to, turns int }

type loopsKey struct{}

// repeated notes that nodes of a graph are evaluated so many times.
func repeated(g *Graph, from, to, turns int) {
	loops, _ := g.State(loopsKey{}).([]span)
	g.AttachState(loopsKey{}, append(loops, span{from, to, turns}))
}

// CountProducts notes operations of matrix products that a graph does not show, as
// those of a fused kernel.
func CountProducts(g *Graph, flops float64) {
	sum, _ := g.State(countedKey{}).(float64)
	g.AttachState(countedKey{}, sum+flops)
}

type countedKey struct{}
