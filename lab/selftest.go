package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/lab/backend"
	"github.com/kalmarz/kalmarz/layers/check"
	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/mixer/mixercheck"
)

// testForm is a way of evaluating a mixer and how far it may be from the
// float64 recurrence, relative to the largest value of each array.
type testForm struct {
	name       string
	dtype      dtypes.DType
	form       delta.Form
	pieces     func(T int) []int // nil: the whole sequence at once
	valuesOnly bool
	value      float64
	gradient   float64
}

// testForms is the register that selftest walks.
var testForms = []testForm{
	{name: "recurrent", dtype: dtypes.Float64, form: delta.Form{Recurrent: true}, value: 1e-9, gradient: 1e-9},
	{name: "chunk 16", dtype: dtypes.Float64, form: delta.Form{Chunk: 16}, value: 1e-8, gradient: 1e-8},
	{name: "recurrent", dtype: dtypes.Float32, form: delta.Form{Recurrent: true}, value: 2e-5, gradient: 2e-4},
	{name: "chunk 16", dtype: dtypes.Float32, form: delta.Form{Chunk: 16}, value: 2e-5, gradient: 2e-4},
	{name: "chunk 32", dtype: dtypes.Float32, form: delta.Form{Chunk: 32}, value: 2e-5, gradient: 2e-4},
	{name: "chunk 64", dtype: dtypes.Float32, form: delta.Form{Chunk: 64}, value: 2e-5, gradient: 2e-4},
	{name: "prefill 41+29", dtype: dtypes.Float32, form: delta.Form{Chunk: 32}, value: 2e-5, gradient: 2e-4,
		pieces: func(T int) []int { return []int{41, T - 41} }},
	{name: "step by step", dtype: dtypes.Float32, value: 2e-5, valuesOnly: true,
		pieces: func(T int) []int { return slices.Repeat([]int{1}, T) }},
}

// TestRow is one line of selftest.
type TestRow struct {
	Mixer         string `json:"mixer"`
	Form          string `json:"form"`
	DType         string `json:"dtype"`
	Value         Number `json:"value_error"`
	ValueAt       string `json:"value_error_at"`
	ValueLimit    Number `json:"value_tolerance"`
	Gradient      Number `json:"gradient_error"`
	GradientAt    string `json:"gradient_error_at"`
	GradientLimit Number `json:"gradient_tolerance"`
	Pass          bool   `json:"pass"`
	Error         string `json:"error,omitempty"`
	Seconds       Number `json:"seconds"`
}

// selfTest measures one mixer in every form on be against the float64
// recurrence on ref, with a random initial state and a loss on all outputs and
// the final state.
func selfTest(ctx context.Context, be, ref compute.Backend, k *mixer.Kind, tell func(TestRow)) error {
	const B, T, D = 2, 70, 24
	given := only(map[string]string{"heads": "2", "dk": "8", "dv": "6"}, k.Options)
	l, err := mixer.New(k.Name, D, given)
	if err != nil {
		return err
	}
	c := mixercheck.Case{Layer: l, X: check.Random(rand.New(rand.NewPCG(11, 12)), 1, B, T, D), State: true, Seed: 13,
		DType: dtypes.Float64, Form: delta.Form{Recurrent: true}}
	want, err := mixercheck.Run(ref, c)
	if err != nil {
		return oneLine(fmt.Errorf("%s in float64: %w", k.Name, err))
	}
	return walkForms(ctx, k.Name, func(f *testForm) bool {
		if be.Name() == ref.Name() && f.dtype == dtypes.Float64 && f.form.Recurrent {
			return false // it would be compared with itself
		}
		if recurs(l) {
			return true
		}
		// Forms of the recurrence make no difference.
		f.name = strings.Replace(f.name, "chunk 64", "whole", 1)
		return f.pieces != nil || f.form.Chunk == 64
	}, func(f testForm) (errorsOf, error) {
		c.DType, c.Form, c.Values, c.Pieces = f.dtype, f.form, f.valuesOnly, nil
		if f.pieces != nil {
			c.Pieces = f.pieces(T)
		}
		got, err := mixercheck.Run(be, c)
		return func() (float64, float64, string, string) { return got.Worst(want) }, err
	}, tell)
}

// errorsOf gives the largest relative errors of values and gradients, and where
// they are.
type errorsOf func() (value, gradient float64, valueAt, gradientAt string)

// walkForms evaluates one thing in each of testForms that take admits, which may
// rename it, and tells a line of each.
func walkForms(ctx context.Context, what string, take func(*testForm) bool, evaluate func(testForm) (errorsOf, error), tell func(TestRow)) error {
	for _, f := range testForms {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !take(&f) {
			continue
		}
		start := time.Now()
		var errs errorsOf
		err := safely(func() (err error) {
			errs, err = evaluate(f)
			return err
		})
		row := f.row(what, start, err)
		if err == nil {
			row.judge(errs())
		}
		tell(row)
	}
	return nil
}

// recurs tells whether a mixer is a recurrence: its state does not grow with the
// sequence.
func recurs(l mixer.Layer) bool { return mixer.Bytes(l.Slots(1)) == mixer.Bytes(l.Slots(2)) }

// row begins the line of one evaluation.
func (f testForm) row(what string, start time.Time, err error) TestRow {
	r := TestRow{Mixer: what, Form: f.name, DType: strings.ToLower(f.dtype.String()),
		ValueLimit: Number(f.value), GradientLimit: Number(f.gradient), Seconds: Number(time.Since(start).Seconds())}
	if err != nil {
		r.Error = oneLine(err).Error()
	}
	return r
}

// judge compares errors with the limits; NaN never passes.
func (r *TestRow) judge(value, gradient float64, valueAt, gradientAt string) {
	r.Value, r.Gradient, r.ValueAt, r.GradientAt = Number(value), Number(gradient), valueAt, strings.TrimPrefix(gradientAt, "grad ")
	r.Pass = r.Value <= r.ValueLimit && (r.GradientLimit == 0 || r.Gradient <= r.GradientLimit)
}

// recurrenceTest measures the recurrence behind the mixers against its plain
// float64 form in Go, with losses on outputs, final state and written values.
func recurrenceTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	const B, T, H, K, V = 2, 70, 2, 8, 6
	rng := rand.New(rand.NewPCG(21, 22))
	for _, p := range []struct {
		name     string
		decays   int
		strength float64
		erase    bool
	}{
		{"delta rule", 0, 0, true}, {"delta, a decay a head", 1, 0.5, true}, {"delta, a decay a channel", K, 0.5, true},
		{"delta, strong decay", K, 20, true}, {"additive, a decay a channel", K, 0.5, false},
	} {
		a := delta.Random(rng, B, T, H, K, V, p.decays, p.strength, p.erase)
		d := &delta.Result{O: check.Random(rng, 1, B*T*H*V).Values, State: check.Random(rng, 1, B*H*K*V).Values, U: check.Random(rng, 1, B*T*H*V).Values}
		want, err := delta.Reference(a)
		if err != nil {
			return err
		}
		wantGrad, err := delta.ReferenceGradient(a, d)
		if err != nil {
			return err
		}
		err = walkForms(ctx, p.name, func(f *testForm) bool { return f.pieces == nil }, func(f testForm) (errorsOf, error) {
			got, grad, err := delta.Evaluate(be, f.dtype, f.form, a, d)
			return func() (float64, float64, string, string) { return delta.Errors(got, want, grad, wantGrad) }, err
		}, tell)
		if err != nil {
			return err
		}
	}
	return nil
}

func selftest(ctx context.Context, s *Session, args []string) error {
	_, args = s.place(args)
	var archive string
	var asJSON, onlyKernels bool
	kinds := mixer.Registry
	for i := 0; i < len(args); i++ {
		value := func() (string, error) {
			if i++; i < len(args) {
				return args[i], nil
			}
			return "", fmt.Errorf("%s needs a value", args[i-1])
		}
		switch args[i] {
		case "--json":
			asJSON = true
		case "--kernels":
			onlyKernels = true
		case "--golden":
			v, err := value()
			if err != nil {
				return err
			}
			archive = v
		case "--mixer":
			v, err := value()
			if err != nil {
				return err
			}
			k, err := findMixer(v)
			if err != nil {
				return err
			}
			kinds = []*mixer.Kind{k}
		default:
			return fmt.Errorf("%q: selftest takes --mixer M, --golden FILE.npz, --kernels, --json and backend=...", args[i])
		}
	}
	be, err := s.open()
	if err != nil {
		return err
	}
	if archive != "" {
		return s.goldenTest(ctx, be, archive, kinds, asJSON)
	}
	ref, err := backend.Choose("go")
	if err != nil {
		return err
	}
	reference, err := ref.Open()
	if err != nil {
		return err
	}
	var rows []TestRow
	tell := func(r TestRow) {
		rows = append(rows, r)
		if terminal(s.Err) {
			fmt.Fprintf(s.Err, "\r\x1b[K%s %s %s", r.Mixer, r.Form, r.DType)
		}
	}
	if onlyKernels {
		if !kernels.On(be) {
			return fmt.Errorf("selftest --kernels: %s has no fused kernels: doctor says why", s.choice.Config)
		}
	}
	all := len(kinds) == len(mixer.Registry)
	filters := slices.ContainsFunc(kinds, func(k *mixer.Kind) bool { return k.Name == "kalman" })
	scans := slices.DeleteFunc(slices.Clone(kinds), func(k *mixer.Kind) bool { return !slices.Contains(scanMixers, k.Name) })
	if onlyKernels {
		kinds = nil
	}
	scanKernels := func(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
		return scanKernelTest(ctx, be, reference, scans, tell)
	}
	for _, part := range []struct {
		wanted bool
		test   func(context.Context, compute.Backend, func(TestRow)) error
	}{
		{all || onlyKernels && !filters && len(scans) == 0, kernelTest}, {filters, filterKernelTest}, {len(scans) > 0, scanKernels},
		{all && !onlyKernels, recurrenceTest}, {filters && !onlyKernels, filterTest},
	} {
		if !part.wanted {
			continue
		}
		if err := part.test(ctx, be, tell); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		if err := selfTest(ctx, be, reference, k, tell); err != nil {
			return err
		}
	}
	if terminal(s.Err) {
		fmt.Fprint(s.Err, "\r\x1b[K")
	}
	return s.printTest(rows, asJSON)
}

// printTest prints the rows and fails if one of them does.
func (s *Session) printTest(rows []TestRow, asJSON bool) error {
	failed := 0
	t := &table{header: []string{"mixer", "form", "dtype", "values", "limit", "at", "gradients", "limit", "at", ""}}
	for _, r := range rows {
		verdict, gradient, limit := "ok", fmt.Sprintf("%.1e", float64(r.Gradient)), fmt.Sprintf("%.0e", float64(r.GradientLimit))
		if !r.Pass {
			verdict = "FAILED " + r.Error
			failed++
		}
		if r.GradientLimit == 0 {
			gradient, limit = "-", "-"
		}
		t.add(r.Mixer, r.Form, r.DType, fmt.Sprintf("%.1e", float64(r.Value)), fmt.Sprintf("%.0e", float64(r.ValueLimit)), r.ValueAt, gradient, limit, r.GradientAt, verdict)
	}
	if asJSON {
		e := json.NewEncoder(s.Out)
		e.SetIndent("", "  ")
		if err := e.Encode(map[string]any{"backend": s.choice.String(), "versions": versions(), "rows": rows}); err != nil {
			return err
		}
	} else {
		if _, err := io.WriteString(s.Out, t.text()); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "%d of %d within tolerance on %s; relative to the largest value of each array, against float64\n", len(rows)-failed, len(rows), s.choice.Config); err != nil {
			return err
		}
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}
