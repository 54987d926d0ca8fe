package mixer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/option"
)

// core runs a kind's recurrence on its published inputs.
func core(kind *Kind, more option.Values) func(in map[string]*Node) delta.Inputs {
	o := kind.Options.Defaults()
	for k, v := range more {
		o[k] = v
	}
	return func(in map[string]*Node) delta.Inputs { return kind.Core(in, o) }
}

// with calls f with some inputs replaced.
func with(f func(in map[string]*Node) delta.Inputs, change func(in, out map[string]*Node)) func(in map[string]*Node) delta.Inputs {
	return func(in map[string]*Node) delta.Inputs {
		out := map[string]*Node{}
		for name, x := range in {
			out[name] = x
		}
		change(in, out)
		return f(out)
	}
}

// Mixers that contain one another, with the same gradients of what they share.
func TestMixersContainOneAnother(t *testing.T) {
	gdn, kda, gdn2 := core(gdnKind, nil), core(kdaKind, nil), core(gdn2Kind, nil)
	perChannel := func(in, out map[string]*Node) {
		out["log_decay"] = BroadcastToDims(PerHead(in["log_decay"]), in["k"].Shape().Dimensions...)
	}
	steady := func(step func(k *Node) *Node) func(in map[string]*Node) delta.Inputs {
		return func(in map[string]*Node) delta.Inputs {
			r, _ := freeKeys(in["q"], in["k"], in["v"], step(in["k"]), in["log_decay"])
			return r
		}
	}
	for _, c := range []struct {
		name        string
		inputs      []string
		unit        bool // keys of norm 1
		left, right func(in map[string]*Node) delta.Inputs
	}{
		{"gdn without decay = deltanet", []string{"q", "k", "v", "beta"}, true,
			with(gdn, func(in, out map[string]*Node) { out["log_decay"] = ZerosLike(in["beta"]) }), core(deltaNetKind, nil)},
		{"kda with equal channels = gdn", []string{"q", "k", "v", "beta", "log_decay"}, true, with(kda, perChannel), gdn},
		{"gdn2 with b = w = β = kda", []string{"q", "k", "v", "beta", "log_decay"}, true,
			with(gdn2, func(in, out map[string]*Node) {
				perChannel(in, out)
				out["erase"] = BroadcastToDims(PerHead(in["beta"]), in["k"].Shape().Dimensions...)
				out["write"] = BroadcastToDims(PerHead(in["beta"]), in["v"].Shape().Dimensions...)
			}), with(kda, perChannel)},
		{"gla with equal channels = simple_gla", []string{"q", "k", "v", "log_decay"}, false, with(core(glaKind, nil), perChannel), core(simpleGLAKind, nil)},
		{"kaczmarz at unit keys and ε = 0 = gdn", []string{"q", "k", "v", "beta", "log_decay"}, true,
			with(core(kaczmarzKind, option.Values{"eps": 0.0}), func(in, out map[string]*Node) {
				// Along the sphere of unit keys the step is constant, off it it is not.
				out["eta"], out["k"] = in["beta"], unit(in["k"])
			}), with(gdn, func(in, out map[string]*Node) { out["k"] = unit(in["k"]) })},
		{"longhorn at s = ∞ = kaczmarz at η = 1, ε = 0", []string{"q", "k", "v", "log_decay"}, false,
			steady(func(k *Node) *Node {
				s := 1e9 // its square must not overflow
				if k.DType() == dtypes.Float64 {
					s = 1e20
				}
				return longhornStep(k, MulScalar(OnesLike(ReduceSum(k, -1)), s))
			}),
			steady(func(k *Node) *Node {
				return kaczmarzStep(k, OnesLike(ReduceSum(k, -1)), ScalarZero(k.Graph(), k.DType()))
			})},
	} {
		for _, T := range lengths(7, 50, 500) {
			if T == 500 && c.name[:4] != "gdn " || check.Compiled() && c.name[:8] != "kaczmarz" {
				continue
			}
			ins := randomInputs(rand.New(rand.NewPCG(11, uint64(T))), T, c.inputs, c.unit)
			for dtype, tol := range map[dtypes.DType]float64{dtypes.Float32: 1e-6, dtypes.Float64: 1e-13} {
				if dtype == dtypes.Float64 && check.Compiled() {
					continue
				}
				outs, grads := [2][]check.Array{}, [2][]check.Array{}
				for side, f := range []func(in map[string]*Node) delta.Inputs{c.left, c.right} {
					w := randomWeights(T)
					var err error
					outs[side], grads[side], err = check.Gradients(check.Backend(), dtype, func(x []*Node) []*Node {
						in := map[string]*Node{}
						for i, name := range c.inputs {
							in[name] = x[i]
						}
						r := f(in)
						r.State = x[len(c.inputs)]
						out := delta.Run(r, delta.Form{Chunk: 32})
						return []*Node{out.O, out.State}
					}, ins, w)
					if err != nil {
						t.Fatalf("%s: %v", c.name, err)
					}
				}
				for i := range outs[0] {
					if e := check.RelErr(outs[0][i].Values, outs[1][i].Values); !(e <= tol) {
						t.Errorf("%s, T=%d %s: output %d differs by %.2g", c.name, T, dtype, i, e)
					}
				}
				for i := range grads[0] {
					if e := check.RelErr(grads[0][i].Values, grads[1][i].Values); !(e <= 10*tol) {
						t.Errorf("%s, T=%d %s: gradient %d differs by %.2g", c.name, T, dtype, i, e)
					}
				}
			}
		}
	}
}

// unit divides by the norm, which is not near 0 here.
func unit(k *Node) *Node { return Div(k, Sqrt(ReduceAndKeep(Square(k), ReduceSum, -1))) }

// lengths are the sequence lengths to test; when graphs are compiled, only the
// second.
func lengths(all ...int) []int {
	if check.Compiled() {
		return all[1:2]
	}
	return all
}

const batch, heads, keyWidth, valueWidth = 2, 2, 4, 3

// randomInputs makes arrays by their published names, then an initial state.
func randomInputs(rng *rand.Rand, T int, names []string, unit bool) (ins []check.Array) {
	for _, name := range names {
		var a check.Array
		switch name {
		case "q", "k":
			a = check.Random(rng, 1, batch, T, heads, keyWidth)
			for i := 0; unit && name == "k" && i < len(a.Values); i += keyWidth {
				norm := 0.0
				for _, v := range a.Values[i : i+keyWidth] {
					norm += v * v
				}
				for j := range keyWidth {
					a.Values[i+j] /= math.Sqrt(norm)
				}
			}
		case "v":
			a = check.Random(rng, 1, batch, T, heads, valueWidth)
		case "beta", "log_decay":
			a = check.Random(rng, 1, batch, T, heads)
			for i := range a.Values {
				a.Values[i] = rng.Float64()
				if name == "log_decay" {
					a.Values[i] *= -0.2
				}
			}
		default:
			panic(fmt.Sprint("no input ", name))
		}
		ins = append(ins, a)
	}
	return append(ins, check.Random(rng, 1, batch, heads, keyWidth, valueWidth))
}

func randomWeights(T int) []check.Array {
	rng := rand.New(rand.NewPCG(12, 12))
	return []check.Array{check.Random(rng, 1, batch, T, heads, valueWidth), check.Random(rng, 1, batch, heads, keyWidth, valueWidth)}
}
