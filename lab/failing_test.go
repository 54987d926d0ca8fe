package lab

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// failing is a graph whose calls may fail, as those of a device do.
type failing struct {
	executor
	calls int
	fails func(call int, args []any) error // calls count from 1; nil goes on
}

func (f *failing) Call(args ...any) ([]*tensors.Tensor, error) {
	f.calls++
	if err := f.fails(f.calls, args); err != nil {
		return nil, err
	}
	return f.executor.Call(args...)
}

var errExhausted = errors.New("failed to execute graph \"step#1\": backend \"xla\": failed to execute computation \"step#1\": PJRT error (code=8): RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.\nstack")

// A run for which the device has no memory is recorded as failed, with what takes
// less of it; what was on the device is given back, and the other runs go on. So
// they do where a result cannot be read, which panics.
func TestOutOfMemoryInASweep(t *testing.T) {
	onPureGo(t)
	for want, fails := range map[string]func(call int, _ []any) error{
		"out of device memory: 68.7 GB more were asked for; " + lessTraining: func(call int, _ []any) error {
			if call == 3 {
				return errExhausted
			}
			return nil
		},
		"INTERNAL: stream is gone": func(call int, _ []any) error {
			if call == 3 {
				panic("PJRT error (code=13): INTERNAL: stream is gone\nstack")
			}
			return nil
		},
	} {
		s := fresh()
		a := ablation(t, tiny+"lengths=1,2", "0.5", "1")
		other, err := s.trainer(parse(t, tiny+"mixer=gdn")) // an earlier run's
		if err != nil {
			t.Fatal(err)
		}
		tr, err := s.trainer(a.Cells[0])
		if err != nil {
			t.Fatal(err)
		}
		tr.step = &failing{executor: tr.step, fails: fails}
		if err := a.Run(context.Background(), s, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		left := a.Unfinished()
		if len(left) != 1 || left[0] != "eta = 0.5, seed 1: failed: "+want {
			t.Fatalf("unfinished: %q", left)
		}
		for i := range a.Cells {
			for k, r := range a.Runs[i] {
				if failed := i == 0 && k == 0; failed != (r.Status == Failed) || failed && r.Step != 2 {
					t.Errorf("cell %d, seed %d: %s after step %d: %s", i, k+1, r.Status, r.Step, r.Reason)
				}
			}
		}
		if r := readRecord(t, a.cellDir(0, 1)); r.Status != Failed || r.Reason != want {
			t.Errorf("recorded: %s: %s", r.Status, r.Reason)
		}
		if _, err := other.step.Compile(); (err != nil && strings.Contains(err.Error(), "has been finalized")) != strings.Contains(want, "memory") {
			t.Errorf("%s: an earlier run's graph: %v", want, err)
		}
	}
}

// A length at which the evaluation finds no memory is a note, and the shorter ones
// have their numbers.
func TestOutOfMemoryInAnEvaluation(t *testing.T) {
	onPureGo(t)
	s, dir := fresh(), t.TempDir()
	e := parse(t, tiny+"lengths=1,2")
	tr, err := s.trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	tr.predict = &failing{executor: tr.predict, fails: func(_ int, args []any) error {
		if args[0].(*tensors.Tensor).Shape().Dim(1) > e.Task.Info().T {
			return errExhausted
		}
		return nil
	}}
	r, err := s.run(context.Background(), e, 1, dir, nil)
	if err != nil || r.Status != Finished {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, ev := range r.Evals {
		const note = "out of device memory: 68.7 GB more were asked for; " + lessScoring
		if long := ev.Factor > 1; long != (ev.Note == note) || !long && (ev.Note != "" || ev.Rows != 8) {
			t.Errorf("%+v", ev)
		}
	}
	if text := strings.Join(notEvaluated([]*Record{r}), "\n"); !strings.Contains(text, "2x fixedK is not possible: out of device memory: ") {
		t.Errorf("said: %s", text)
	}
}

// On CPUs a graph that cannot fit is an error before it runs: an allocation that
// fails would end the process.
func TestGraphThatCannotFit(t *testing.T) {
	onPureGo(t)
	if freeMemory() == 0 {
		t.Skip("the machine does not say how much memory is free")
	}
	tr, err := fresh().trainer(parse(t, tiny))
	if err != nil {
		t.Fatal(err)
	}
	rows := shapes.Make(dtypes.Int32, 1<<36, 16)
	err = tr.compile(tr.predict, lessScoring, []shapes.Shape{rows, rows})
	if !noMemory(err) || !strings.HasPrefix(err.Error(), "too little memory here: one array takes ") || !strings.HasSuffix(err.Error(), "B are free; "+lessScoring) {
		t.Error(err)
	}
}

// A compiler that refuses kernels: the run goes on as graphs from the same start,
// and says so once.
func TestRefusedKernels(t *testing.T) {
	onPureGo(t)
	words := "steps=3 width=16 mixer=gdn dk=16 dv=16 heads=1 batch=2 len=64 pairs=4 eval_rows=8 lengths=1 form=kernel"
	e := parse(t, words)
	want, err := fresh().run(context.Background(), e, 1, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := fresh()
	be, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	kernels.Use(be, func(f *kernels.Function, xs []*Node) (out []*Node) {
		g := xs[0].Graph()
		if strings.HasPrefix(g.Name(), "Store.Exec") { // others are not compiled
			refused++
			kernels.Refused()
			panic(errors.New("INTERNAL: Failed to compile Triton kernel."))
		}
		for _, a := range f.Out {
			out = append(out, Zeros(g, shapes.Make(dtypes.Float32, a.Dims...)))
		}
		return out
	})
	defer kernels.Forget(be)
	got, err := s.run(context.Background(), e, 1, t.TempDir(), nil)
	if err != nil || got.Final != want.Final || got.Status != Finished || refused != 1 {
		t.Errorf("%v: refused %d times; %+v, want %+v", err, refused, got, want)
	}
	const says = "warning: from here on graphs run without fused kernels: INTERNAL: Failed to compile Triton kernel.; KALMARZ_KERNELS=off takes the graph form instead of a fused kernel\n"
	if notes := s.Err.(interface{ String() string }).String(); strings.Count(notes, says) != 1 {
		t.Errorf("notes:\n%s", notes)
	}
}
