package mixer_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/ssm"
)

const layerSeed = 5

// declare returns the parameters of a layer of the tests' width, with the values
// that mixercheck gives them under layerSeed.
func declare(t *testing.T, l mixer.Layer) *param.Set {
	t.Helper()
	set := param.NewSet(dtypes.Float64, layerSeed, nil)
	g := NewGraph(check.Backend(), "parameters")
	mixer.Apply(l, mixer.Context{Scope: set.At(g)}, Parameter(g, "x", shapes.Make(dtypes.Float64, 1, 2, width)), nil)
	return set
}

func values(t *testing.T, set *param.Set, name string) []float64 {
	t.Helper()
	for _, e := range set.Entries() {
		if e.Name == name {
			v, err := e.Variable().Value()
			if err != nil {
				t.Fatal(err)
			}
			return tensors.MustCopyFlatData[float64](v)
		}
	}
	t.Fatalf("no parameter %s", name)
	return nil
}

// plain holds the parts of a block in plain Go, over n rows of tokens.
type plain struct {
	t   *testing.T
	set *param.Set
	n   int
}

func (p plain) linear(name string, x []float64, in, out int) []float64 {
	w := values(p.t, p.set, name+"/weight")
	y := make([]float64, p.n*out)
	for i := range p.n {
		for j := range in {
			for k := range out {
				y[i*out+k] += x[i*in+j] * w[j*out+k]
			}
		}
	}
	return y
}

func silu(v float64) float64 { return v / (1 + math.Exp(-v)) }

// conv is the causal convolution of width w over rows of T tokens, then SiLU.
func (p plain) conv(x []float64, T, channels, w int) []float64 {
	weight, bias := values(p.t, p.set, "conv/weight"), values(p.t, p.set, "conv/bias")
	y := make([]float64, len(x))
	for i := range y {
		c, token := i%channels, i/channels%T
		y[i] = bias[c]
		for j := range w {
			if from := token - w + 1 + j; from >= 0 {
				y[i] += weight[j*channels+c] * x[i+(from-token)*channels]
			}
		}
		y[i] = silu(y[i])
	}
	return y
}

// cut splits rows into parts of the given widths.
func (p plain) cut(x []float64, widths ...int) (parts [][]float64) {
	at, total := 0, len(x)/p.n
	for _, w := range widths {
		var part []float64
		for i := range p.n {
			part = append(part, x[i*total+at:][:w]...)
		}
		parts, at = append(parts, part), at+w
	}
	return parts
}

func (p plain) add(x []float64, bias []float64, f func(float64) float64) {
	for i := range x {
		x[i] = f(x[i] + bias[i%len(bias)])
	}
}

// Mamba, diagonal Longhorn and the mLSTM as plain Go on the same parameters.
func TestBlocksAgreeWithPlainGo(t *testing.T) {
	const B, T, M, S, R = 2, 7, 2 * width, 3, 2
	x := input(T)
	selective := func(step func(float64) float64, decays bool) func(p plain) []float64 {
		return func(p plain) []float64 {
			parts := p.cut(p.linear("in_proj", x.Values, width, 2*M), M, M)
			h, z := p.conv(parts[0], T, M, 3), parts[1]
			parts = p.cut(p.linear("x_proj", h, M, R+2*S), R, S, S)
			dt := p.linear("dt_proj", parts[0], R, M)
			p.add(dt, values(t, p.set, "dt_proj/bias"), step)
			a := &ssm.Arrays{B: B, T: T, M: M, S: S, X: h, Step: dt, In: parts[1], Out: parts[2], State: make([]float64, B*M*S)}
			if decays {
				for i := range M * S {
					a.A = append(a.A, -float64(1+i%S))
				}
			}
			y, _, err := ssm.Reference(a)
			if err != nil {
				t.Fatal(err)
			}
			for i := range y { // D = 1
				y[i] = (y[i] + h[i]) * silu(z[i])
			}
			return p.linear("o_proj", y, M, width)
		}
	}
	mlstm := func(p plain) []float64 {
		const H, K, block = 2, M / 2, 4
		parts := p.cut(p.linear("up_proj", x.Values, width, 2*M), M, M)
		v, z := parts[0], parts[1]
		c := p.conv(v, T, M, 3)
		mix := func(name string, x []float64) []float64 {
			w, y := values(t, p.set, name+"/weight"), make([]float64, len(x))
			for i := range y {
				for j := range block {
					y[i] += x[i/block*block+j] * w[(i%M/block*block+j)*block+i%block]
				}
			}
			return y
		}
		a := &ssm.MLSTMArrays{B: B, T: T, H: H, K: K, V: K, Q: mix("q_proj", c), Key: mix("k_proj", c), Value: mix("v_proj", v),
			Memory: make([]float64, B*H*K*K), Norm: make([]float64, B*H*K), Max: make([]float64, B*H)}
		for i := range a.Q {
			a.Q[i] /= math.Sqrt(K)
		}
		a.Input, a.Forget = make([]float64, B*T*H), make([]float64, B*T*H) // weights start as 0
		same := func(v float64) float64 { return v }
		p.add(a.Input, values(t, p.set, "i_gate/bias"), same)
		p.add(a.Forget, values(t, p.set, "f_gate/bias"), same)
		if f := a.Forget; f[0] != 3 || f[1] != 6 {
			t.Errorf("forget gates start as %v", f[:2])
		}
		y, _, _, _, err := ssm.MLSTMReference(a)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(y); i += K {
			mean, square := 0.0, 0.0
			for _, v := range y[i : i+K] {
				mean += v / K
			}
			for _, v := range y[i : i+K] {
				square += (v - mean) * (v - mean) / K
			}
			for j := i; j < i+K; j++ {
				y[j] = ((y[j]-mean)/math.Sqrt(square+1e-5) + c[j]) * silu(z[j])
			}
		}
		return p.linear("o_proj", y, M, width)
	}
	for name, want := range map[string]func(p plain) []float64{
		"mamba":             selective(func(v float64) float64 { return math.Log1p(math.Exp(v)) }, true),
		"longhorn_diagonal": selective(func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }, false),
		"mlstm":             mlstm,
	} {
		o := map[string]string{"conv": "3", "d_state": "3", "dt_rank": "2"}
		if name == "mlstm" {
			o = map[string]string{"conv": "3", "heads": "2"}
		}
		l, err := mixer.New(name, width, o)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, mixercheck.Case{Layer: l, X: x, DType: dtypes.Float64, Seed: layerSeed, Values: true})
		if e := check.RelErr(got["y"].Values, want(plain{t, declare(t, l), B * T})); !(e < 1e-12) {
			t.Errorf("%s: off by %.2g", name, e)
		}
	}
	for name, o := range map[string]map[string]string{"mlstm": {"heads": "5"}, "mamba": {"expand": "0.3"}, "longhorn_diagonal": {"expand": "0.3"}} {
		if _, err := mixer.New(name, width, o); err == nil {
			t.Errorf("%s %v: expected an error", name, o)
		}
	}
}
