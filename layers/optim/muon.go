package optim

// Muon (K. Jordan, github.com/KellerJordan/Muon; scaled as in arXiv 2502.16982)
// replaces the update of a matrix by the nearest one with all singular values
// alike:
//
//	M <- μM + (1-μ)G     X = (1-μ)G + μM     (Nesterov; without it X = M)
//	X <- X/‖X‖           N times X <- aX + (bP + cP²)X, P = XXᵀ
//	W <- (1 - lr λ)W - lr s X
//
// NorMuon (arXiv 2510.05491) divides X by a running root mean square of each of
// its rows or columns before the last line.
//
// Matrices are [n inputs, m outputs].

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/kalmarz/kalmarz/layers/grad"
)

// Scaling is the factor s on an orthogonalised update of a matrix with m
// outputs and n inputs.
type Scaling string

const (
	Moonlight Scaling = "moonlight" // 0.2 √max(m,n): updates as large as AdamW's
	Jordan    Scaling = "jordan"    // √max(1, m/n)
	Spectral  Scaling = "spectral"  // √max(m,n)
)

// Coefficients are (a, b, c) for each iteration in turn, from the first again
// after the last.
type Coefficients [][3]float64

// Simple are Muon's own coefficients, the same in each iteration; Quintic differ
// from one to the next and bring the singular values closer together in five.
var (
	Simple  = Coefficients{{3.4445, -4.7750, 2.0315}}
	Quintic = Coefficients{{4.0848, -6.8946, 2.9270}, {3.9505, -6.3029, 2.6377}, {3.7418, -5.5913, 2.3037}, {2.8769, -3.1427, 1.2046}, {2.8366, -3.0525, 1.2012}}
)

// Muon updates the matrices that Applies picks and leaves all other variables
// to Rest.
type Muon struct {
	LearningRate *Node // scalar, of the graph that is built
	Momentum     float64
	Nesterov     bool
	WeightDecay  float64
	Scaling      Scaling
	Coefficients Coefficients
	Iterations   int
	BFloat16     bool     // round each product of the iteration to bfloat16, as PyTorch's does
	NorMuon      *NorMuon // nil is plain Muon
	Applies      func(v *model.Variable) bool
	Rest         *AdamW
}

// NorMuon is what NorMuon adds.
type NorMuon struct {
	Beta    float64 // of the running mean square
	Outputs bool    // one mean for each output; otherwise for each of the inputs where these are more
	Restore bool    // give the update its norm back
}

const muonScope = optimiserScope + "/muon"

// UpdateGraph adds the update of every trainable variable below the scope.
func (u *Muon) UpdateGraph(scope *model.Scope, g *Graph, loss *Node) {
	u.UpdateGraphWithGradients(scope, scope.BuildTrainableVariablesGradientsGraph(loss), loss.DType())
}

// UpdateGraphWithGradients is UpdateGraph for gradients that are given, one for
// each trainable variable that the graph uses, in the scope's order.
func (u *Muon) UpdateGraphWithGradients(scope *model.Scope, grads []*Node, dtype dtypes.DType) {
	store := scope.Store()
	rest := u.Rest.begin(store, dtype)
	var own []*model.Variable
	var xs []*Node
	for i, v := range Trainable(scope, u.LearningRate.Graph()) {
		if u.Applies(v) {
			own, xs = append(own, v), append(xs, u.momentum(store, v, grads[i], dtype))
		} else {
			rest(v, grads[i])
		}
	}
	for i, x := range orthogonalised(xs, u.Coefficients, u.Iterations, u.BFloat16) {
		u.update(store, own[i], x, dtype)
	}
}

// momentum returns X of a variable before it is orthogonalised.
func (u *Muon) momentum(store *model.Store, v *model.Variable, gradient *Node, dtype dtypes.DType) *Node {
	momentum := state(store, muonScope+"/momentum"+v.Path(), v.Shape().Dimensions, dtype)
	m := Add(MulScalar(momentum.NodeValue(gradient.Graph()), u.Momentum), MulScalar(gradient, 1-u.Momentum))
	momentum.SetNodeValue(m)
	if u.Nesterov {
		return Add(MulScalar(gradient, 1-u.Momentum), MulScalar(m, u.Momentum))
	}
	return m
}

// update takes a variable's step along x.
func (u *Muon) update(store *model.Store, v *model.Variable, x *Node, dtype dtypes.DType) {
	dims := v.Shape().Dimensions
	x = MulScalar(x, u.Scaling.of(dims[1], dims[0]))
	if u.NorMuon != nil {
		x = u.NorMuon.normalised(store, v, x, dtype)
	}
	lr := ConvertDType(u.LearningRate, dtype)
	w := v.NodeValue(x.Graph())
	v.SetNodeValue(Sub(Sub(w, Mul(lr, MulScalar(w, u.WeightDecay))), Mul(lr, x)))
}

// normalised divides x by the running root mean square of each output's values,
// or of each input's where there are fewer outputs than inputs.
func (n *NorMuon) normalised(store *model.Store, v *model.Variable, x *Node, dtype dtypes.DType) *Node {
	in, out := x.Shape().Dim(0), x.Shape().Dim(1)
	axis, dims := 0, []int{1, out} // mean over inputs
	if out < in && !n.Outputs {
		axis, dims = 1, []int{in, 1}
	}
	second := state(store, muonScope+"/second"+v.Path(), dims, dtype)
	s := Add(MulScalar(second.NodeValue(x.Graph()), n.Beta), MulScalar(ReduceAndKeep(Square(x), ReduceMean, axis), 1-n.Beta))
	second.SetNodeValue(s)
	y := Div(x, Sqrt(MaxScalar(s, 1e-8)))
	if n.Restore {
		y = Mul(y, Div(Norm([]*Node{x}), MaxScalar(Norm([]*Node{y}), 1e-8)))
	}
	return y
}

// orthogonalised orthogonalises matrices, all of one size, or of its transpose,
// together: a step launches as many products for one as for all layers.
func orthogonalised(xs []*Node, c Coefficients, n int, bf16 bool) []*Node {
	type size struct{ rows, columns int }
	var sizes []size
	members := map[size][]int{}
	out := make([]*Node, len(xs))
	for i, x := range xs {
		s := size{x.Shape().Dim(0), x.Shape().Dim(1)}
		if tall(x) {
			s = size{s.columns, s.rows}
		}
		if members[s] == nil {
			sizes = append(sizes, s)
		}
		members[s] = append(members[s], i)
	}
	for _, s := range sizes {
		var wide []*Node
		for _, i := range members[s] {
			wide = append(wide, flipped(xs[i], tall(xs[i])))
		}
		for j, y := range grad.Unstack(iterate(Stack(wide, 0), c, n, bf16), 0) {
			i := members[s][j]
			out[i] = flipped(y, tall(xs[i]))
		}
	}
	return out
}

// Orthogonalise brings the singular values of x near 1 in n iterations, keeping
// its singular vectors; bf16 rounds every intermediate matrix to bfloat16. A
// matrix of zeros stays.
func Orthogonalise(x *Node, c Coefficients, n int, bf16 bool) *Node {
	return orthogonalised([]*Node{x}, c, n, bf16)[0]
}

func tall(x *Node) bool { return x.Shape().Dim(0) > x.Shape().Dim(1) }

func flipped(x *Node, flip bool) *Node {
	if flip {
		return Transpose(x, 0, 1)
	}
	return x
}

// iterate is Orthogonalise for matrices [N,rows,columns] with no more rows than
// columns. A compiler multiplies what is rounded as bfloat16, which gives the same
// products, summed in float32.
func iterate(x *Node, c Coefficients, n int, bf16 bool) *Node {
	dtype := x.DType()
	round := func(x *Node) *Node {
		if !bf16 {
			return x
		}
		x = ConvertDType(ConvertDType(x, dtypes.Float32), dtypes.BFloat16)
		if dtype == dtypes.Float32 && !grad.PureGo(x.Graph()) {
			return x
		}
		return ConvertDType(x, dtype)
	}
	wide := func(x *Node) *Node { return ConvertDType(x, dtype) }
	norm := Sqrt(ReduceAndKeep(ReduceAndKeep(Square(wide(round(x))), ReduceSum, -1), ReduceSum, -2))
	x = round(Div(wide(round(x)), AddScalar(wide(round(norm)), 1e-7)))
	for i := range n {
		k := c[i%len(c)]
		p := round(grad.NT.Wide(x, x))
		q := round(Add(MulScalar(wide(p), k[1]), MulScalar(grad.NN.Wide(p, p), k[2])))
		x = round(Add(MulScalar(wide(x), k[0]), grad.NN.Wide(q, x)))
	}
	return wide(x)
}

func (s Scaling) of(m, n int) float64 {
	most := math.Sqrt(float64(max(m, n)))
	switch s {
	case Jordan:
		return math.Sqrt(max(1, float64(m)/float64(n)))
	case Spectral:
		return most
	}
	return 0.2 * most
}

// Clear sets the momenta and mean squares to zero, and the state of Rest.
func (u *Muon) Clear(scope *model.Scope) error {
	if err := clearState(scope.Store(), muonScope); err != nil {
		return err
	}
	return u.Rest.Clear(scope)
}
