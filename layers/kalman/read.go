package kalman

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/scan"
)

// reader takes the state after a token to the outputs
//
//	y = Σ_s q μ        y_var = Σ_s q² var        var = 1/λ
//
// or, when the prediction for the next token is read, with aμ for μ and
// a² var + p for var.
type reader struct {
	Options
	form
}

func (r reader) moments(next, w []*Node) (mean, variance *Node) {
	mean = r.form.mean(next)
	if r.Variance {
		variance = Div(ConstAs(next[0], 1), next[0])
	}
	if r.Prior {
		a := w[0]
		mean = Mul(a, mean)
		if r.Variance {
			variance = Add(Mul(Mul(a, a), variance), w[1])
		}
	}
	return mean, variance
}

func (r reader) outputs(next, x, w []*Node) []*Node {
	mean, variance := r.moments(next, w)
	q := x[qAt]
	ys := []*Node{scan.SumStates(mean, q)}
	if r.Variance {
		ys = append(ys, scan.SumStates(variance, Mul(q, q)))
	}
	return ys
}

// seed returns the gradient of the state from those of the outputs.
func (r reader) seed(next, x, w, dy []*Node) []*Node {
	q := x[qAt]
	dmean := scan.Outer(q, dy[0])
	var dvar *Node
	if r.Variance {
		dvar = scan.Outer(Mul(q, q), dy[1])
	}
	if r.Prior {
		a := w[0]
		dmean = Mul(a, dmean)
		if r.Variance {
			dvar = Mul(Mul(a, a), dvar)
		}
	}
	return r.scaled(next, dmean, dvar)
}

// query returns the gradient of q.
func (r reader) query(next, x, w, dy []*Node) *Node {
	mean, variance := r.moments(next, w)
	terms := []scan.Term{{X: mean, Y: dy[0]}}
	if r.Variance {
		terms = append(terms, scan.Term{Scale: Add(x[qAt], x[qAt]), X: variance, Y: dy[1]})
	}
	return scan.SumChannels(terms...)
}

// drift returns the gradients of a and p from the reading of a prediction.
func (r reader) drift(next, x, w, dy []*Node) (da, dp *Node) {
	q := x[qAt]
	da = Mul(scan.Outer(q, dy[0]), r.form.mean(next))
	if !r.Variance {
		return da, BroadcastToShape(ConstAs(da, 0), da.Shape())
	}
	dp = scan.Outer(Mul(q, q), dy[1])
	slope := Div(w[0], next[0])
	return Add(da, Mul(dp, Add(slope, slope))), dp
}
