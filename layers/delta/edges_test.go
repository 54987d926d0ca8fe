package delta

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
)

// perTokenInputs lists the arrays of a problem that have a token axis, as
// [B,T,width].
func (a *Arrays) perTokenInputs() [][]float64 {
	var out [][]float64
	for _, x := range [][]float64{a.Q, a.Key, a.Write, a.Erase, a.LogDecay} {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

// What happens at tokens from P on changes neither outputs before P nor the
// gradients of a loss on these, to the last bit.
func TestNothingLooksAhead(t *testing.T) {
	const C, T = 8, 21
	for _, decays := range few([]int{0, 1, 3}, 3) {
		for _, name := range few([]string{"chunked", "recurrent"}, "chunked") {
			form := map[string]func(Inputs) Outputs{"chunked": chunkedBy(C), "recurrent": Recurrent}[name]
			for _, P := range few([]int{1, C / 2, C}, C/2) {
				a := problem(rand.New(rand.NewPCG(8, 9)), 2, T, 2, 3, 2, decays, 0.5, true, true)
				rng := rand.New(rand.NewPCG(1, 1))
				w := []check.Array{check.Random(rng, 1, a.B, T, a.H, a.V), {}, check.Random(rng, 1, a.B, T, a.H, a.V)}
				for _, x := range []check.Array{w[0], w[2]} {
					eachToken(a, x.Values, func(_, token int, row []float64) {
						if token >= P {
							clear(row)
						}
					})
				}
				run := func() (outs, grads []check.Array) {
					fn, ins := graphOf(a, form)
					outs, grads, err := check.Gradients(check.Backend(), dtypes.Float64, fn, ins, w)
					if err != nil {
						t.Fatal(err)
					}
					return outs, grads
				}
				outs, grads := run()
				for i, x := range a.perTokenInputs() {
					eachToken(a, x, func(_, token int, row []float64) {
						for j := range row {
							if token >= P && i == 4 {
								row[j] -= 1e3
							} else if token >= P {
								row[j] += 1e3
							}
						}
					})
				}
				outs2, grads2 := run()
				before := func(what string, x, y check.Array) {
					eachToken(a, x.Values, func(b, token int, row []float64) {
						other := y.Values[(b*T+token)*len(row):]
						for j, v := range row {
							if token < P && math.Float64bits(v) != math.Float64bits(other[j]) {
								t.Fatalf("%s, decays=%d, P=%d: %s at token %d was %g, is %g", name, decays, P, what, token, v, other[j])
							}
						}
					})
				}
				before("o", outs[0], outs2[0])
				before("u", outs[2], outs2[2])
				for i := range a.perTokenInputs() {
					before(fmt.Sprintf("gradient %d", i), grads[i], grads2[i])
				}
				if state := len(grads) - 1; !slices.Equal(grads[state].Values, grads2[state].Values) {
					t.Errorf("%s, decays=%d, P=%d: the initial state's gradient changed", name, decays, P)
				}
			}
		}
	}
}

// eachToken calls f with the values of each row and token of x [B,T,...].
func eachToken(a *Arrays, x []float64, f func(b, token int, row []float64)) {
	width := len(x) / (a.B * a.T)
	for b := range a.B {
		for t := range a.T {
			f(b, t, x[(b*a.T+t)*width:][:width])
		}
	}
}

// Tokens with q = k = e = z = 0 and g = 0, wherever they are, leave the others
// and the state as they were and have no gradient.
func TestPadsAreInert(t *testing.T) {
	const T = 11
	for _, pads := range few([][]int{{0, 1, 2}, {11, 12, 13, 14, 15}, {3, 7, 8}, {0, 5, 6, 14}}, []int{0, 5, 6, 14}) {
		for _, decays := range few([]int{0, 1, 3}, 3) {
			a := problem(rand.New(rand.NewPCG(8, 9)), 2, T, 2, 3, 2, decays, 0.5, true, true)
			want, wantGrad, w := referenceOf(t, a)
			long := *a
			long.T = T + len(pads)
			spread := func(x []float64) []float64 { // zeros at pads
				if x == nil {
					return nil
				}
				width := len(x) / (a.B * T)
				y := make([]float64, a.B*long.T*width)
				from := 0
				eachToken(&long, y, func(_, token int, row []float64) {
					if !slices.Contains(pads, token) {
						from += copy(row, x[from:from+width])
					}
				})
				return y
			}
			long.Q, long.Key, long.Write, long.Erase, long.LogDecay = spread(a.Q), spread(a.Key), spread(a.Write), spread(a.Erase), spread(a.LogDecay)
			for _, i := range []int{0, 2} {
				w[i] = check.Array{Dims: []int{a.B, long.T, a.H, a.V}, Values: spread(w[i].Values)}
			}
			for _, name := range few([]string{"chunked", "recurrent"}, "chunked") {
				form := map[string]func(Inputs) Outputs{"chunked": chunkedBy(4), "recurrent": Recurrent}[name]
				what := fmt.Sprintf("%s, decays=%d, pads %v", name, decays, pads)
				fn, ins := graphOf(&long, form)
				outs, grads, err := check.Gradients(check.Backend(), dtypes.Float64, fn, ins, w)
				if err != nil {
					t.Fatal(err)
				}
				for i, x := range [][]float64{want.O, want.State, want.U} {
					got := outs[i].Values
					if i != 1 {
						got = gather(&long, got, pads, nil)
					}
					if e := check.RelErr(got, x); !(e < 1e-13) {
						t.Errorf("%s: %s is off by %.2g", what, resultNames[i], e)
					}
				}
				for i, x := range wantGrad.inputs() {
					got := grads[i].Values
					if i < len(grads)-1 {
						var atPads []float64
						got = gather(&long, got, pads, &atPads)
						if i < 4 && slices.ContainsFunc(atPads, func(v float64) bool { return v != 0 }) { // g = 0 is a choice, not an absence
							t.Errorf("%s: gradient %d at the pads is %v", what, i, atPads)
						}
					}
					if e := check.RelErr(got, x); !(e < 1e-12) {
						t.Errorf("%s: gradient %d is off by %.2g", what, i, e)
					}
				}
			}
		}
	}
}

// gather returns the values of x [B,T,...] that are not at pads, and collects
// the others.
func gather(a *Arrays, x []float64, pads []int, atPads *[]float64) (rest []float64) {
	eachToken(a, x, func(_, token int, row []float64) {
		if !slices.Contains(pads, token) {
			rest = append(rest, row...)
		} else if atPads != nil {
			*atPads = append(*atPads, row...)
		}
	})
	return
}

// The chunked graph with all gradients grows by a fixed number of nodes per
// chunk; the recurrent one is a loop and does not grow.
func TestGraphsGrowInStep(t *testing.T) {
	count := func(a *Arrays, form func(Inputs) Outputs) int {
		fn, ins := graphOf(a, form)
		g := NewGraph(check.Backend(), "")
		defer g.Finalize()
		var x []*Node
		for i, in := range ins {
			x = append(x, Parameter(g, fmt.Sprint("x", i), in.Tensor().Shape()))
		}
		ys := fn(x)
		Gradient(Add(Add(ReduceAllSum(ys[0]), ReduceAllSum(ys[1])), ReduceAllSum(ys[2])), x...)
		return len(g.Nodes())
	}
	const C = 16
	for decays, fixed := range map[int]int{0: 500, 1: 1200, 3: 1700} {
		for _, c := range []struct {
			name           string
			form           func(Inputs) Outputs
			unit           int
			fixed, perUnit int // nodes <= fixed + perUnit T/unit
		}{
			{"chunked", chunkedBy(C), C, fixed, 25},
			{"recurrent", Recurrent, 1, 330, 0}, // a loop: the same at any length
		} {
			last, step := 0, 0
			for _, n := range []int{2, 3, 4, 5, 16} {
				nodes := count(problem(rand.New(rand.NewPCG(8, 9)), 1, n*c.unit, 1, 3, 2, decays, 0.5, true, true), c.form)
				if nodes > c.fixed+c.perUnit*n {
					t.Errorf("%s, decays=%d: %d nodes at T=%d, expected at most %d + %d T/%d", c.name, decays, nodes, n*c.unit, c.fixed, c.perUnit, c.unit)
				}
				if n > 3 && n < 16 && nodes-last != step {
					t.Errorf("%s, decays=%d: unit %d of T adds %d nodes, the one before %d", c.name, decays, n, nodes-last, step)
				}
				last, step = nodes, nodes-last
			}
		}
	}
}
