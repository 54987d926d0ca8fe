package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/kalman"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// filter is a problem for the filter's kernels, as they read it.
type filter struct {
	kernels.Scan
	kernels.Kalman
	a    *kalman.Arrays
	mask []float64
}

func newFilter(rng *rand.Rand, f kernels.Scan, parts kernels.Kalman, process func(i int) (a, p float64)) filter {
	a := kalman.Random(rng, f.B, f.T, f.M, f.S, true)
	for i := range a.A {
		if process != nil {
			a.A[i], a.P[i] = process(i)
		}
	}
	for _, x := range []*[]float64{&a.V, &a.Precision, &a.K, &a.Q} {
		*x = round(f.DType, *x)
	}
	for _, x := range []*[]float64{&a.A, &a.P, &a.Lambda, &a.Eta} {
		*x = round(triton.F32, *x)
	}
	p := filter{Scan: f, Kalman: parts, a: a}
	if f.Masked {
		for range f.B * f.T {
			p.mask = append(p.mask, float64(rng.IntN(2)))
		}
	}
	return p
}

func (p filter) inputs() map[string][]float64 {
	a := p.a
	return map[string][]float64{"v": a.V, "precision": a.Precision, "k": a.K, "q": a.Q, "a": a.A, "p": a.P, "lambda": a.Lambda, "eta": a.Eta, "mask": p.mask}
}

// run interprets a function on arrays by name, beside those that are there.
func (p filter) run(t *testing.T, f *kernels.Function, arrays map[string][]float64, there map[string]*triton.Buffer) map[string]*triton.Buffer {
	t.Helper()
	all := map[string]*triton.Buffer{}
	for name, x := range there {
		all[name] = x
	}
	for _, in := range f.In {
		if x := arrays[in.Name]; x != nil {
			all[in.Name] = triton.FromFloat64(in.DType, x, in.Dims...)
		}
	}
	out, err := f.Run(all)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return out
}

// reference filters the tokens that are there, row by row: pads have neither
// outputs nor gradients.
func (p filter) reference(t *testing.T, d *kalman.Result) (*kalman.Result, *kalman.Arrays) {
	t.Helper()
	out, grad := &kalman.Result{}, &kalman.Arrays{A: make([]float64, p.M*p.S), P: make([]float64, p.M*p.S)}
	for b := range p.B {
		row := func(x []float64) []float64 { n := len(x) / p.B; return x[b*n : (b+1)*n] }
		kept := func(x []float64, width int) (y []float64) {
			for t := range p.T {
				if p.mask == nil || p.mask[b*p.T+t] != 0 {
					y = append(y, row(x)[t*width:][:width]...)
				}
			}
			return y
		}
		widen := func(to *[]float64, x []float64, width int) {
			for t := range p.T {
				if p.mask != nil && p.mask[b*p.T+t] == 0 {
					*to = append(*to, make([]float64, width)...)
					continue
				}
				*to, x = append(*to, x[:width]...), x[width:]
			}
		}
		a := &kalman.Arrays{B: 1, M: p.M, S: p.S, V: kept(p.a.V, p.M), Precision: kept(p.a.Precision, p.M), K: kept(p.a.K, p.S), Q: kept(p.a.Q, p.S),
			A: p.a.A, P: p.a.P, Lambda: row(p.a.Lambda), Eta: row(p.a.Eta)}
		a.T = len(a.V) / p.M
		r, err := kalman.Reference(a, p.Prior)
		if err != nil {
			t.Fatal(err)
		}
		g, err := kalman.ReferenceGradient(a, p.Prior, &kalman.Result{Y: kept(d.Y, p.M), YVar: kept(d.YVar, p.M), Lambda: row(d.Lambda), Eta: row(d.Eta)})
		if err != nil {
			t.Fatal(err)
		}
		widen(&out.Y, r.Y, p.M)
		widen(&out.YVar, r.YVar, p.M)
		out.Lambda, out.Eta = append(out.Lambda, r.Lambda...), append(out.Eta, r.Eta...)
		widen(&grad.V, g.V, p.M)
		widen(&grad.Precision, g.Precision, p.M)
		widen(&grad.K, g.K, p.S)
		widen(&grad.Q, g.Q, p.S)
		grad.Lambda, grad.Eta = append(grad.Lambda, g.Lambda...), append(grad.Eta, g.Eta...)
		for i := range g.A {
			grad.A[i], grad.P[i] = grad.A[i]+g.A[i], grad.P[i]+g.P[i]
		}
	}
	return out, grad
}

// check runs a problem forward and backward and compares all results.
func (p filter) check(t *testing.T, name string, rng *rand.Rand, value, gradient float64) {
	t.Helper()
	random := func(dtype triton.DType, dims ...int) []float64 {
		return round(dtype, check.Random(rng, 1, dims...).Values)
	}
	d := &kalman.Result{Y: random(p.DType, p.B, p.T, p.M), YVar: random(p.DType, p.B, p.T, p.M), Lambda: random(triton.F32, p.B, p.M, p.S), Eta: random(triton.F32, p.B, p.M, p.S)}
	if !p.Variance {
		clear(d.YVar)
	}
	want, grad := p.reference(t, d)
	compare := func(what string, got *triton.Buffer, want []float64, limit float64) {
		t.Helper()
		if e := check.RelErr(sumParts(got, len(want), p.Scan), want); !(e <= limit) {
			t.Errorf("%s: %s is off by %.1e, more than %.0e", name, what, e, limit)
		} else {
			t.Logf("%s: %s %.1e", name, what, e)
		}
	}
	got := p.run(t, p.Forward(), p.inputs(), nil)
	compare("y", got["y"], want.Y, value)
	compare("last λ", got["last_lambda"], want.Lambda, value)
	compare("last η", got["last_eta"], want.Eta, value)
	if p.Variance {
		compare("y_var", got["y_var"], want.YVar, value)
	}
	got = p.run(t, p.Backward(), map[string][]float64{"dy": d.Y, "dy_var": d.YVar, "dlast_lambda": d.Lambda, "dlast_eta": d.Eta}, got)
	for what, w := range map[string][]float64{"dv": grad.V, "dprecision": grad.Precision, "dk_parts": grad.K, "dq_parts": grad.Q,
		"da_parts": grad.A, "dp_parts": grad.P, "dlambda": grad.Lambda, "deta": grad.Eta} {
		compare(what, got[what], w, gradient)
	}
}

// sumParts adds up what programs left in parts: [B,parts,n] for tokens, [B,N,n] for
// what all rows share.
func sumParts(x *triton.Buffer, n int, f kernels.Scan) []float64 {
	values := x.Float64()
	if len(values) == n {
		return values
	}
	out := make([]float64, n)
	rows := f.B
	if n == f.M*f.S {
		rows = 1
	}
	each := n / rows
	for i, v := range values {
		out[i/(len(values)/rows)*each+i%each] += v
	}
	return out
}

// TestKalman compares forward and backward with the float64 recurrence.
func TestKalman(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	limits := kernels.Find("kalman").Tolerance
	still := func(int) (a, p float64) { return 1, 0 }
	fast := func(i int) (a, p float64) { return 0.01 * float64(i%5), 1 }
	quiet := func(i int) (a, p float64) { return 0.95, 1e-12 }
	fresh := func(i int) (a, p float64) { // as a layer begins
		a, p, _ = kalman.OU.ReferenceDiscretise(1, 1e-3*math.Pow(100, float64(i%7)/6), 0.01)
		return a, p
	}
	plan := func(channels, ahead, turn, chunks int) kernels.ScanPlan {
		return kernels.ScanPlan{Channels: channels, Ahead: ahead, Turn: turn, Chunks: chunks}
	}
	for _, c := range []struct {
		name       string
		B, T, M, S int
		parts      kernels.Kalman
		plan       kernels.ScanPlan
		process    func(i int) (a, p float64)
		bf16       bool
		masked     bool
	}{
		{"one level", 2, 32, 16, 16, kernels.Kalman{Variance: true}, plan(8, 4, 8, 1), nil, false, false},
		{"one level, a turn read ahead", 2, 32, 16, 16, kernels.Kalman{Variance: true}, plan(8, 8, 8, 1), nil, false, false},
		{"one level, bfloat16", 2, 32, 16, 16, kernels.Kalman{Variance: true}, plan(8, 4, 8, 1), nil, true, false},
		{"without variance, ragged", 1, 37, 6, 5, kernels.Kalman{}, plan(4, 2, 4, 1), nil, false, false},
		{"one token", 1, 1, 8, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 1), nil, false, false},
		{"prior", 1, 24, 8, 4, kernels.Kalman{Variance: true, Prior: true}, plan(8, 4, 4, 1), nil, false, false},
		{"prior without variance, two levels", 1, 24, 8, 4, kernels.Kalman{Prior: true}, plan(8, 2, 4, 3), nil, false, false},
		{"padding", 2, 30, 8, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 1), nil, false, true},
		{"padding, two levels", 2, 30, 8, 4, kernels.Kalman{Variance: true}, plan(4, 2, 4, 3), nil, false, true},
		{"two levels", 2, 64, 16, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 4), nil, false, false},
		{"two levels, ragged", 1, 83, 6, 3, kernels.Kalman{Variance: true}, plan(4, 4, 8, 5), nil, false, false},
		{"a chunk past the end", 1, 17, 4, 4, kernels.Kalman{Variance: true}, plan(4, 2, 4, 4), nil, false, false},
		{"no decay, no noise", 1, 64, 8, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 2), still, false, false},
		{"fast decay", 1, 64, 8, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 2), fast, false, false},
		{"nearly no noise", 1, 64, 8, 4, kernels.Kalman{Variance: true}, plan(8, 4, 8, 2), quiet, false, false},
		{"as a layer begins", 1, 512, 4, 4, kernels.Kalman{Variance: true}, plan(4, 4, 8, 8), fresh, false, false},
		{"long", 1, 1024, 4, 4, kernels.Kalman{Variance: true}, plan(4, 4, 8, 8), nil, false, false},
	} {
		dtype := dtypes.Float32
		if c.bf16 {
			dtype = dtypes.BFloat16
		}
		f, err := kernels.NewKalman(c.B, c.T, c.M, c.S, 0, dtype, c.parts, c.masked)
		if err != nil {
			t.Fatal(err)
		}
		f.Plan = c.plan
		limit := limits[f.DType]
		if c.process == nil && !c.bf16 { // nothing is lost
			limit = kernels.Tolerance{Value: 1e-6, Gradient: 2e-6}
		}
		newFilter(rng, f, c.parts, c.process).check(t, c.name, rng, limit.Value, limit.Gradient)
	}
}

// Kernels are chosen by themselves where they pay, and only if a device has checked
// them.
func TestScanPays(t *testing.T) {
	for _, c := range []struct {
		T     int
		dtype dtypes.DType
		want  bool
	}{{255, dtypes.Float32, false}, {256, dtypes.Float32, true}, {256, dtypes.BFloat16, true}} {
		filter, err := kernels.NewKalman(1, c.T, 16, 8, 0, c.dtype, kernels.Kalman{}, false)
		if err != nil || filter.Pays() != c.want {
			t.Errorf("filter of %d tokens: %v, %v", c.T, filter.Pays(), err)
		}
		mamba, err := kernels.NewMamba(1, c.T, 16, 8, 0, dtypes.Float32)
		if err != nil || mamba.Pays() != c.want {
			t.Errorf("Mamba of %d tokens: %v, %v", c.T, mamba.Pays(), err)
		}
	}
}

// Plans fill a device, and what kernels cannot do is refused with a reason.
func TestScanPlans(t *testing.T) {
	for _, c := range []struct {
		B, T, M, S int
		want       kernels.ScanPlan
	}{
		{8, 2048, 1024, 16, kernels.ScanPlan{Channels: 8, Ahead: 8, Turn: 8, Chunks: 1}},
		{1, 32768, 1024, 16, kernels.ScanPlan{Channels: 8, Ahead: 4, Turn: 8, Chunks: 8}},
		{1, 1000, 1024, 16, kernels.ScanPlan{Channels: 8, Ahead: 4, Turn: 8, Chunks: 5}}, // 7 do not divide it
		{1, 4, 64, 4, kernels.ScanPlan{Channels: 32, Ahead: 8, Turn: 8, Chunks: 1}},
		{1, 4096, 64, 128, kernels.ScanPlan{Channels: 1, Ahead: 4, Turn: 8, Chunks: 16}},
	} {
		f, err := kernels.NewKalman(c.B, c.T, c.M, c.S, 0, dtypes.Float32, kernels.Kalman{}, false)
		if err != nil || f.Plan != c.want {
			t.Errorf("B=%d T=%d M=%d S=%d: %+v, %v, expected %+v", c.B, c.T, c.M, c.S, f.Plan, err, c.want)
		}
	}
	for want, build := range map[string]func() (kernels.Scan, error){
		"kernels: kalman: Float64: must be bfloat16 or float32": func() (kernels.Scan, error) {
			return kernels.NewKalman(1, 8, 8, 4, 0, dtypes.Float64, kernels.Kalman{}, false)
		},
		"kernels: mamba: 256 states: must be at most 128": func() (kernels.Scan, error) { return kernels.NewMamba(1, 8, 8, 256, 0, dtypes.Float32) },
		"kernels: longhorn: B=1024 T=4096 M=1024 S=16: an array would have 2^31 numbers or more, or there are more than 65535 rows and chunks": func() (kernels.Scan, error) {
			return kernels.NewLonghorn(1024, 4096, 1024, 16, 0, dtypes.Float32)
		},
	} {
		if _, err := build(); err == nil || err.Error() != want {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	for _, text := range []string{"8,4,8,1", "3,4,8,1,0", "8,8,4,1,0", "8,4,8,-1,0"} {
		if _, err := kernels.ParseScanPlan(text); err == nil {
			t.Errorf("plan %s is taken", text)
		}
	}
}
