package grad

import (
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// GoMLX's pure-Go backend multiplies batches of small matrices 20 to 30 times
// faster in the layout [n,m,k] x [n,k,p] than in any transposed one, so there
// the products below transpose explicitly, in the forward and in the backward
// pass. A compiler such as XLA's chooses layouts itself: there they are plain
// dot products.

// BMM returns a b for batches a [n,m,k], b [n,k,p]: [n,m,p].
func BMM(a, b *Node) *Node { return product(NN, a, b) }

// BMMNT returns a bᵀ for batches a [n,m,k], b [n,p,k]: [n,m,p].
func BMMNT(a, b *Node) *Node { return product(NT, a, b) }

// BMMTN returns aᵀ b for batches a [n,k,m], b [n,k,p]: [n,m,p].
func BMMTN(a, b *Node) *Node { return product(TN, a, b) }

// Layout names the transposition in a product of batches of matrices.
type Layout uint8

// a b, a bᵀ and aᵀ b.
const (
	NN Layout = iota
	NT
	TN
)

// Of multiplies without a gradient of its own, for use inside Custom.
func (l Layout) Of(a, b *Node) *Node {
	if PureGo(a.Graph()) {
		switch l {
		case NT:
			b = swap(b)
		case TN:
			a = swap(a)
		}
		l = NN
	}
	ca, cb := l.contracted()
	return DotGeneral(a, []int{ca}, []int{0}, b, []int{cb}, []int{0})
}

// contracted are the axes over which a product of that layout sums.
func (l Layout) contracted() (a, b int) {
	switch l {
	case NT:
		return 2, 2
	case TN:
		return 1, 1
	}
	return 2, 1
}

// Wide is Of with a result that is at least float32: bfloat16 matrices are
// multiplied exactly and summed in float32. The pure-Go backend does so in
// float32 throughout, since its products of bfloat16 are sixty times slower.
func (l Layout) Wide(a, b *Node) *Node {
	if a.DType() != dtypes.BFloat16 {
		return l.Of(a, b)
	}
	if PureGo(a.Graph()) {
		return l.Of(Wide(a), Wide(b))
	}
	ca, cb := l.contracted()
	return Dot(a, b).WithOutputDType(dtypes.Float32).General([]int{ca}, []int{0}, []int{cb}, []int{0})
}

// WideBMM is Wide with a gradient, in which what flows back is rounded to the
// operands' type before it is multiplied.
func WideBMM(l Layout, a, b *Node) *Node {
	if a.DType() != dtypes.BFloat16 {
		return product(l, a, b)
	}
	return Custom([]*Node{a, b}, func(x []*Node) []*Node {
		return []*Node{l.Wide(x[0], x[1])}
	}, func(x, _, d []*Node) []*Node {
		da, db := l.adjoint(x[0], x[1], ConvertDType(d[0], a.DType()), Layout.Wide)
		return []*Node{ConvertDType(da, a.DType()), ConvertDType(db, b.DType())}
	})[0]
}

// roundedBMM is WideBMM rounded once. A compiler is asked for the rounded products
// themselves, of which it sums in float32, too: it would else write the wide ones
// out and read them again. The gradient of b, of few and long sums where b is a
// matrix of weights, is rounded after its product, which may be summed in parts.
func roundedBMM(l Layout, a, b *Node) *Node {
	if PureGo(a.Graph()) {
		return ConvertDType(WideBMM(l, a, b), a.DType())
	}
	return Custom([]*Node{a, b}, func(x []*Node) []*Node {
		return []*Node{l.Of(x[0], x[1])}
	}, func(x, _, d []*Node) []*Node {
		da, _ := l.adjoint(x[0], x[1], d[0], Layout.Of)
		_, db := l.adjoint(x[0], x[1], d[0], Layout.Wide)
		return []*Node{da, ConvertDType(db, b.DType())}
	})[0]
}

// adjoint returns the gradients of a and b for that of their product.
func (l Layout) adjoint(a, b, dy *Node, of func(Layout, *Node, *Node) *Node) (da, db *Node) {
	switch l {
	case NT:
		return of(NN, dy, b), of(TN, dy, a)
	case TN:
		return of(NT, b, dy), of(NN, a, dy)
	}
	return of(NT, dy, b), of(TN, a, dy)
}

// product of bfloat16 matrices is WideBMM rounded once.
func product(l Layout, a, b *Node) *Node {
	if a.DType() == dtypes.BFloat16 {
		return roundedBMM(l, a, b)
	}
	if !PureGo(a.Graph()) {
		return l.Of(a, b)
	}
	return Custom([]*Node{a, b}, func(x []*Node) []*Node {
		return []*Node{l.Of(x[0], x[1])}
	}, func(x, _, d []*Node) []*Node {
		da, db := l.adjoint(x[0], x[1], d[0], Layout.Of)
		return []*Node{da, db}
	})[0]
}

// Project returns x w for x [...,d], w [d,e]: [...,e]. The weights take part in
// the type of x.
func Project(x, w *Node) *Node { return project(product, x, w) }

// ProjectWide is Project with a result that is at least float32.
func ProjectWide(x, w *Node) *Node { return project(WideBMM, x, w) }

func project(times func(l Layout, a, b *Node) *Node, x, w *Node) *Node {
	dims := x.Shape().Dimensions
	d, e := dims[len(dims)-1], w.Shape().Dim(-1)
	y := times(NN, Reshape(x, 1, -1, d), Reshape(ConvertDType(w, x.DType()), 1, d, e))
	return Reshape(y, append(append([]int{}, dims[:len(dims)-1]...), e)...)
}

func swap(x *Node) *Node { return TransposeAllAxes(x, 0, 2, 1) }

// PureGo tells whether a graph is built for GoMLX's pure-Go backend.
func PureGo(g *Graph) bool { return g.Backend().Name() == "Go Backend" }

// GPU tells whether a graph is built for a device that is no CPU.
func GPU(g *Graph) bool {
	p, ok := g.Backend().(interface{ PluginName() string })
	return ok && !strings.Contains(p.PluginName(), "cpu")
}
