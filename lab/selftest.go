package lab

import (
	"context"
	"errors"
	"fmt"
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
	return walkForms(ctx, k.Name, testForms, func(f *testForm) bool {
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

// walkForms evaluates one thing in each of some forms that take admits, which may
// rename it, and tells a line of each.
func walkForms(ctx context.Context, what string, forms []testForm, take func(*testForm) bool, evaluate func(testForm) (errorsOf, error), tell func(TestRow)) error {
	for _, f := range forms {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !take(&f) {
			continue
		}
		tell(f.measure(what, evaluate))
	}
	return nil
}

// measure evaluates one thing in the form.
func (f testForm) measure(what string, evaluate func(testForm) (errorsOf, error)) TestRow {
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
	return row
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

// recurrence is a problem of the recurrence behind the mixers.
type recurrence struct {
	name     string
	decays   int // a token and head
	strength float64
	erase    bool
}

// recurrences are its problems with keys of width K.
func recurrences(K int) []recurrence {
	return []recurrence{
		{"delta rule", 0, 0, true}, {"delta, a decay a head", 1, 0.5, true}, {"delta, a decay a channel", K, 0.5, true},
		{"delta, strong decay", K, 20, true}, {"additive, a decay a channel", K, 0.5, false},
	}
}

// deltaLoss is a loss on outputs, final state and written values.
func deltaLoss(rng *rand.Rand, a *delta.Arrays) *delta.Result {
	random := func(n int) []float64 { return check.Random(rng, 1, n).Values }
	return &delta.Result{O: random(len(a.Write)), State: random(len(a.State)), U: random(len(a.Write))}
}

// againstReference evaluates a problem and a loss's gradients on be and compares them
// with the plain float64 recurrence in Go.
func againstReference(be compute.Backend, a *delta.Arrays, d *delta.Result) (func(testForm) (errorsOf, error), error) {
	want, err := delta.Reference(a)
	if err != nil {
		return nil, err
	}
	wantGrad, err := delta.ReferenceGradient(a, d)
	if err != nil {
		return nil, err
	}
	return func(f testForm) (errorsOf, error) {
		got, grad, err := delta.Evaluate(be, f.dtype, f.form, a, d)
		return func() (float64, float64, string, string) { return delta.Errors(got, want, grad, wantGrad) }, err
	}, nil
}

// recurrenceTest measures the recurrence behind the mixers against its plain
// float64 form in Go, with losses on outputs, final state and written values.
func recurrenceTest(ctx context.Context, be compute.Backend, tell func(TestRow)) error {
	const B, T, H, K, V = 2, 70, 2, 8, 6
	rng := rand.New(rand.NewPCG(21, 22))
	for _, p := range recurrences(K) {
		a := delta.Random(rng, B, T, H, K, V, p.decays, p.strength, p.erase)
		evaluate, err := againstReference(be, a, deltaLoss(rng, a))
		if err != nil {
			return err
		}
		if err := walkForms(ctx, p.name, testForms, func(f *testForm) bool { return f.pieces == nil }, evaluate, tell); err != nil {
			return err
		}
	}
	return nil
}

// selftest measures what its flags choose, and prints and keeps what it found, also
// if it is stopped on the way.
func selftest(ctx context.Context, s *Session, args []string) error {
	_, args = s.place(args)
	var archive, only, chunks string
	var onlyKernels bool
	r := &TestReport{}
	words, err := readFlags(args, map[string]*string{"golden": &archive, "mixer": &only, "chunks": &chunks, "save": &r.save},
		map[string]*bool{"json": &r.json, "kernels": &onlyKernels})
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return fmt.Errorf("%q: selftest takes --mixer MIXER, --golden FILE.npz, --kernels, --chunks N,..., --save FILE, --json and backend=...", words[0])
	case chunks != "" && (onlyKernels || archive != "" || only != ""), onlyKernels && archive != "":
		return errors.New("--chunks, --kernels and --golden: give one of them, and --mixer not with --chunks")
	}
	kinds := mixer.Registry
	if only != "" {
		k, err := findMixer(only)
		if err != nil {
			return err
		}
		kinds = []*mixer.Kind{k}
	}
	if r.save != "" {
		if err := writableFor(r.save); err != nil {
			return fmt.Errorf("--save %s: %w", r.save, err)
		}
	}
	lengths, err := chunkLengths(chunks)
	if err != nil {
		return err
	}
	be, err := s.open()
	if err != nil {
		return err
	}
	if onlyKernels && !kernels.On(be) {
		return fmt.Errorf("selftest --kernels: %s has no fused kernels: doctor says why", s.choice.Config)
	}
	r.begin(s)
	switch {
	case archive != "":
		r.Of = "golden"
		err = s.goldenTest(ctx, be, archive, kinds, r.tell)
	case chunks != "":
		r.Of = "chunks " + chunks
		err = chunkTest(ctx, be, lengths, r.tell)
	default:
		if onlyKernels {
			r.Of = "kernels"
		}
		err = testMixers(ctx, be, kinds, onlyKernels, r.tell)
	}
	if len(r.Rows) == 0 {
		return err
	}
	return errors.Join(err, r.deliver())
}

// testMixers measures kernels, recurrences and mixers, or the kernels alone.
func testMixers(ctx context.Context, be compute.Backend, kinds []*mixer.Kind, onlyKernels bool, tell func(TestRow)) error {
	ref, err := backend.Choose("go")
	if err != nil {
		return err
	}
	reference, err := ref.Open()
	if err != nil {
		return err
	}
	all := len(kinds) == len(mixer.Registry)
	has := func(name string) bool {
		return slices.ContainsFunc(kinds, func(k *mixer.Kind) bool { return k.Name == name })
	}
	filters, attends := has("kalman"), has("softmax")
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
		{all || onlyKernels && !filters && !attends && len(scans) == 0, kernelTest}, {filters, filterKernelTest}, {len(scans) > 0, scanKernels}, {attends, attentionKernelTest},
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
	return nil
}
