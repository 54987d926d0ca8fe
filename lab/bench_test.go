package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/datasets"
	"github.com/kalmarz/kalmarz/layers/check"
)

// casesOf are the rows that words ask for.
func casesOf(t *testing.T, line string) (*benchQuery, []benchCase) {
	t.Helper()
	q, err := readBench(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	q.limits = benchLimits{repeat: 2, budget: 0.001, ahead: 2}
	var all []benchCase
	for _, b := range q.benches {
		rows, err := b.rows(b.values, q.overview)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, rows...)
	}
	return q, all
}

// TestEveryBench measures each bench once at the smallest size and reads the
// report back from its JSON.
func TestEveryBench(t *testing.T) {
	s := session()
	be, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	r := &BenchReport{Benches: []string{"all"}, Origin: s.origin(), Rates: &deviceRates{Array: 1 << 12, Side: 16}}
	if err := r.Rates.measure(be, s.choice.Platform, []string{"float32"}, benchLimits{repeat: 2, budget: 0.001}); err != nil {
		t.Fatal(err)
	}
	q := &benchQuery{}
	for _, line := range []string{
		"delta B=1 T=4 H=1 D=4 decay=head form=chunk chunks=4",
		"filter B=1 T=4 M=4 S=2 form=chosen pass=forward",
		"scan B=1 T=4 M=2 S=2 form=tree pass=forward",
		"attention B=1 T=4 H=2 D=4 pass=forward",
		"layer B=1 T=4 H=1 D=8 mixers=gdn pass=gradients",
		"train model=1x8 B=1 T=8 mixers=gdn",
		"prefill model=1x8 T=4 mixers=gdn",
		"decode model=1x8 T=4,8 mixers=softmax steps=2",
	} {
		_, cases := casesOf(t, line)
		q.limits = benchLimits{repeat: 2, budget: 0.001, ahead: 2}
		if err := s.timeCases(context.Background(), cases, q, r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	back, err := readBenchReport(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Rows) != 12 || back.Versions["go"] == nil || back.Device == "" || back.Rates.Copy <= 0 || back.Rates.Product["float32"] <= 0 {
		t.Errorf("%d rows, report %s", len(back.Rows), text)
	}
	for _, x := range back.Rows {
		if x.Error != "" || x.Median <= 0 || x.Least > x.Median || x.Most < x.Median || x.Latency <= 0 || x.TokensPerS <= 0 || x.Compile <= 0 || x.Bytes <= 0 || x.CopyShare <= 0 || x.Memory == nil || x.Shape["T"] == 0 {
			t.Errorf("row %+v", x)
		}
		if hasProducts := !slices.Contains([]string{"filter", "scan"}, x.Bench); hasProducts && (x.GFLOP <= 0 || x.ProductShare <= 0) {
			t.Errorf("no products: %+v", x)
		}
		switch x.Bench {
		case "attention": // q kᵀ and p v of 10 pairs a head; q, k, v and o
			if x.GFLOP*1e9 != 2*2*2*10*4 || x.Bytes != 4*2*4*4*4 {
				t.Errorf("attention: %g GFLOP, %g bytes", x.GFLOP, x.Bytes)
			}
		case "decode":
			if x.Steps != 2 || x.Tokens != 1 {
				t.Errorf("decode: %d steps, %d tokens", x.Steps, x.Tokens)
			}
		}
	}
	var out bytes.Buffer
	if err := back.deliver(&out, &benchQuery{figure: filepath.Join(t.TempDir(), "speed.svg")}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"tokens/s", "B1 T8 V64", "% copy", "peak MB: ", "speed.svg"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestOneRowFails: what a row cannot do is said in one line, and the rest goes on.
func TestOneRowFails(t *testing.T) {
	s := session()
	if _, err := s.open(); err != nil {
		t.Fatal(err)
	}
	fine := func(be compute.Backend) (*timed, error) {
		_, cases := casesOf(t, "scan B=1 T=2 M=1 S=1 form=chosen pass=forward")
		return cases[0].open(be)
	}
	cases := []benchCase{
		{open: func(compute.Backend) (*timed, error) {
			return nil, errors.New("failed during graph construction/compilation: compilation failed for Exec \"x\": backend \"xla\": failed to compile computation \"y\": PJRT error (code=8): RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3221225472 bytes.\nstack")
		}},
		{open: func(compute.Backend) (*timed, error) { panic("no such operation\nstack") }},
		{open: func(be compute.Backend) (*timed, error) {
			x, err := fine(be)
			if err == nil {
				x.call = func() error { return errors.New("call failed") }
			}
			return x, err
		}},
		{open: fine},
	}
	r := &BenchReport{}
	if err := s.timeCases(context.Background(), cases, &benchQuery{limits: benchLimits{repeat: 1, budget: 0.001}}, r); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"out of device memory: 3.2 GB more were asked for; " + lessTiming, "no such operation", "call failed", ""} {
		if r.Rows[i].Error != want {
			t.Errorf("row %d: error %q, want %q", i, r.Rows[i].Error, want)
		}
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), ": out of device memory: 3.2 GB more were asked for; "+lessTiming+"\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.timeCases(ctx, cases, &benchQuery{}, r); err == nil || err.Error() != "stopped after 0 of 4 rows" {
		t.Errorf("interrupt: %v", err)
	}
}

// TestInputsThatDoNotFit: where the arrays that a row reads are larger than the
// machine's memory the row says so, before one of them is made.
func TestInputsThatDoNotFit(t *testing.T) {
	onPureGo(t)
	if freeMemory() == 0 {
		t.Skip("the machine does not say how much memory is free")
	}
	s := session()
	if _, err := s.open(); err != nil {
		t.Fatal(err)
	}
	_, cases := casesOf(t, "delta B=1048576 T=1048576 H=1 D=64 decay=none form=recurrent pass=forward")
	r := &BenchReport{}
	if err := s.timeCases(context.Background(), cases, &benchQuery{}, r); err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0].Error; !strings.HasPrefix(got, "too little memory here: one array takes 281TB, and ") {
		t.Errorf("%q", got)
	}
}

// TestOneMixerFails: a mixer that has no such size is a row that says so.
func TestOneMixerFails(t *testing.T) {
	_, cases := casesOf(t, "layer mixers=gdn,mamba2 D=8 H=1 B=1 T=2 pass=forward")
	if len(cases) != 2 || cases[0].cannot != nil || cases[1].cannot == nil {
		t.Errorf("%+v", cases)
	}
	if _, cases = casesOf(t, "prefill mixers=gdn,mamba2 model=1x8 T=2,4"); len(cases) != 4 || cases[1].cannot != nil || cases[2].cannot == nil || cases[3].cannot == nil {
		t.Errorf("%+v", cases)
	}
}

// TestSamples: the median is of at most so many calls, within the budget, and
// calls are side by side only where that is asked for and allowed.
func TestSamples(t *testing.T) {
	var mu sync.Mutex
	calls, under, most := 0, 0, 0
	x := &timed{call: func() error {
		mu.Lock()
		calls, under = calls+1, under+1
		most = max(most, under)
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		under--
		mu.Unlock()
		return nil
	}}
	row := BenchRow{Tokens: 10, Steps: 2}
	if err := row.time(x, benchLimits{repeat: 3, budget: 10, ahead: 4}, "go"); err != nil {
		t.Fatal(err)
	}
	if calls != 3+3 || most != 1 || row.Samples != 3 || row.Ahead != 1 || row.Latency < 2 || row.Median < 1 || row.TokensPerS > 10e3 {
		t.Errorf("%d calls, %d at once, %+v", calls, most, row)
	}
	x.together = true
	if err := row.time(x, benchLimits{repeat: 3, budget: 10, ahead: 4}, "go"); err != nil {
		t.Fatal(err)
	}
	if most != 4 || row.Ahead != 4 || row.Median > row.Latency {
		t.Errorf("%d at once, %+v", most, row)
	}
	calls = 0
	if err := row.time(x, benchLimits{repeat: 1000, budget: 1e-6}, "go"); err != nil || calls != 2 || row.Samples != 1 {
		t.Errorf("%v: %d calls beyond the budget, %+v", err, calls, row)
	}
}

// TestDeviceMemory reads what GoMLX keeps to itself out of something of the same
// form, and out of the real thing where the backend is XLA.
func TestDeviceMemory(t *testing.T) {
	type stats struct{ GeneratedCode, Inputs, Outputs, Aliases, Temporary int64 }
	type loaded struct{ OnDeviceMemoryUsageStats stats }
	type executable struct{ exec *loaded }
	m := deviceMemory(&executable{&loaded{stats{1, 20, 300, 20, 4000}}})
	if m == nil || m.Bytes != 4301 {
		t.Errorf("%+v", m)
	}
	for _, other := range []any{nil, 3, &struct{ exec int }{3}, &struct{ other *loaded }{}, &executable{}} {
		if m := deviceMemory(other); m != nil {
			t.Errorf("%T: %+v", other, m)
		}
	}
	s := session()
	be, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	_, cases := casesOf(t, "attention B=1 T=4 H=2 D=4 pass=forward")
	x, err := cases[0].open(be)
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	m = deviceMemory(x.graph.Executable())
	if xla := strings.HasPrefix(s.choice.Platform, "xla"); xla != (m != nil) || xla && m.Bytes < int64(x.bytes) {
		t.Errorf("%s: %+v of %g bytes", s.choice.Platform, m, x.bytes)
	}
	if err := fits(x.graph); err != nil {
		t.Error(err)
	}
}

// Scores that no device holds are not tried, and what has no kernels says so.
func TestAttentionRows(t *testing.T) {
	s := session()
	if _, err := s.open(); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"attention B=1 T=131072 H=16 D=128 pass=forward":        "the scores of all pairs would take 1.1TB: form=kernel, on devices that have kernels, holds none",
		"attention B=1 T=8 H=2 D=16 form=kernel pass=gradients": "backend ",
	} {
		_, cases := casesOf(t, line)
		if row := s.timeCase(cases[0], &benchQuery{}, nil); len(cases) != 1 || !strings.HasPrefix(row.Error, want) {
			t.Errorf("%s: %d rows, error %q, expected %q", line, len(cases), row.Error, want)
		}
	}
}

// A run's memory on its device is that of the largest program that it called, as
// the compiler says.
func TestDeviceMemoryOfARun(t *testing.T) {
	be := mustOpen(t)
	e := parse(t, tiny)
	tr, err := newTrainer(be, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.reset(e, 1); err != nil {
		t.Fatal(err)
	}
	b, err := e.Task.Batch(datasets.Train, 1, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.train(b, 1e-3, 1e-3); err != nil {
		t.Fatal(err)
	}
	if compiled := check.Compiled(); compiled != (tr.memory != nil) {
		t.Fatalf("compiled: %v, memory %+v", compiled, tr.memory)
	}
	if tr.memory == nil {
		return
	}
	// Weights and two moments, which are given and made in place.
	if least := int64(3 * 4 * tr.set.Count()); tr.memory.Bytes < least || tr.memory.Of != deviceProgram {
		t.Errorf("%+v, at least %d", tr.memory, least)
	}
	step := tr.memory.Bytes
	if b, err = e.Task.Batch(datasets.Test, 1, 0, 512); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tr.answer(b); err != nil || tr.memory.Bytes <= step {
		t.Errorf("with 512 rows to answer %+v, %d before, %v", tr.memory, step, err)
	}
}
