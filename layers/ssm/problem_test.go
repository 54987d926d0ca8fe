package ssm

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/scan"
)

// operator is one recurrence as the tests see it: inputs, of which the first
// sequences are [B,T,...] and the last ones the state; a reference; a graph.
type operator struct {
	ins       []check.Array
	sequences int
	states    int
	reference func(x [][]float64) ([][]float64, error) // y, then the state
	graph     func(x []*Node, plan scan.Plan) []*Node
}

func positive(a check.Array, f func(float64) float64) check.Array {
	for i, v := range a.Values {
		a.Values[i] = f(v)
	}
	return a
}

// operators makes a problem of T tokens for each recurrence.
func operators(T int) map[string]operator {
	rng := rand.New(rand.NewPCG(1, uint64(T)))
	const B, M, S, H, K, V = 2, 3, 4, 2, 4, 3
	random := func(scale float64, dims ...int) check.Array { return check.Random(rng, scale, dims...) }
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	two := func(x [][]float64, a *Arrays) ([][]float64, error) {
		y, s, err := Reference(a)
		return [][]float64{y, s}, err
	}
	return map[string]operator{
		"mamba": {
			ins: []check.Array{random(1, B, T, M), positive(random(1, B, T, M), func(v float64) float64 { return 0.2 * math.Exp(v) }),
				random(1, B, T, S), random(1, B, T, S), positive(random(1, M, S), func(v float64) float64 { return -math.Exp(v) }), random(1, B, M, S)},
			sequences: 4, states: 1,
			reference: func(x [][]float64) ([][]float64, error) {
				return two(x, &Arrays{B, T, M, S, x[0], x[1], x[2], x[3], x[4], x[5]})
			},
			graph: func(x []*Node, plan scan.Plan) []*Node {
				y, s := Mamba(MambaInputs{x[0], x[1], x[4], x[2], x[3], x[5]}, plan)
				return []*Node{y, s}
			},
		},
		"longhorn": {
			ins:       []check.Array{random(1, B, T, M), positive(random(1, B, T, M), sigmoid), random(1, B, T, S), random(1, B, T, S), random(1, B, M, S)},
			sequences: 4, states: 1,
			reference: func(x [][]float64) ([][]float64, error) {
				return two(x, &Arrays{B, T, M, S, x[0], x[1], x[2], x[3], nil, x[4]})
			},
			graph: func(x []*Node, plan scan.Plan) []*Node {
				y, s := Longhorn(LonghornInputs{x[0], x[1], x[2], x[3], x[4]}, plan)
				return []*Node{y, s}
			},
		},
		"mlstm": {
			ins: []check.Array{random(0.5, B, T, H, K), random(1, B, T, H, K), random(1, B, T, H, V), random(2, B, T, H),
				positive(random(2, B, T, H), func(v float64) float64 { return v + 2 }), random(1, B, H, K, V), random(1, B, H, K), random(1, B, H)},
			sequences: 5, states: 3,
			reference: func(x [][]float64) ([][]float64, error) {
				h, c, n, m, err := MLSTMReference(&MLSTMArrays{B, T, H, K, V, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]})
				return [][]float64{h, c, n, m}, err
			},
			graph: func(x []*Node, plan scan.Plan) []*Node {
				h, s := MLSTM(MLSTMInputs{x[0], x[1], x[2], x[3], x[4], MLSTMState{x[5], x[6], x[7]}}, delta.Form{Chunk: 8}, plan)
				return []*Node{h, s.Memory, s.Norm, s.Max}
			},
		},
	}
}

func (o operator) values() [][]float64 {
	x := make([][]float64, len(o.ins))
	for i, a := range o.ins {
		x[i] = a.Values
	}
	return x
}
