package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/delta"
	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// benchOptions are the words of bench.
var benchOptions = option.Set{
	{Name: "B", Kind: option.Int, Default: 8, Range: positive, Help: "rows"},
	{Name: "T", Kind: option.Int, Default: 128, Range: positive, Help: "tokens"},
	{Name: "H", Kind: option.Int, Default: 2, Range: positive, Help: "heads"},
	{Name: "D", Kind: option.Int, Default: 32, Range: positive, Help: "key and value width of a head"},
	{Name: "decay", Kind: option.Word, Default: "all", Choices: []string{"all", "none", "head", "channel", "additive"}, Help: "which recurrences: the delta rule without decay, with one a head or a channel, or without erasing"},
	{Name: "dtype", Kind: option.Word, Default: "float32", Choices: []string{"float32", "bfloat16"}, Help: "of the inputs; bfloat16 ones also in the narrow form, which stores in bfloat16 what lies between products"},
	{Name: "chunks", Kind: option.Word, Default: "16,32,64", Help: "chunk lengths"},
	{Name: "repeat", Kind: option.Int, Default: 20, Range: positive, Help: "timed calls after a warm-up; the median is printed"},
}

// BenchRow is one measurement.
type BenchRow struct {
	Recurrence string  `json:"recurrence"`
	Form       string  `json:"form"`
	Pass       string  `json:"pass"`
	Compile    float64 `json:"compile_s"` // to the end of the first call
	Median     float64 `json:"median_ms"`
	Least      float64 `json:"least_ms"`
	Most       float64 `json:"most_ms"`
	TokensPerS float64 `json:"tokens_per_second"`
	GFLOPs     float64 `json:"gflop"` // of the matrix products in the graph
}

// bench times the recurrence behind the mixers, forward and with all gradients.
func bench(ctx context.Context, s *Session, args []string) error {
	_, args = s.place(args)
	given := map[string]string{}
	asJSON := false
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		switch {
		case a == "--json":
			asJSON = true
		case !ok:
			return fmt.Errorf("%q: bench takes --json, backend=... and key=value: %s", a, strings.Join(benchOptions.Names(), ", "))
		default:
			given[key] = value
		}
	}
	o, err := benchOptions.Parse("bench", given)
	if err != nil {
		return err
	}
	var forms []delta.Form
	for _, c := range strings.Split(o.Word("chunks"), ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 || n&(n-1) != 0 {
			return fmt.Errorf("bench: chunks = %s: must be powers of two with commas", o.Word("chunks"))
		}
		forms = append(forms, delta.Form{Chunk: n})
		if o.Word("dtype") == "bfloat16" {
			forms = append(forms, delta.Form{Chunk: n, Narrow: true})
		}
	}
	be, err := s.open()
	if err != nil {
		return err
	}
	var rows []BenchRow
	for _, r := range []struct {
		which, name string
		decays      int
		erase       bool
	}{{"none", "delta rule", 0, true}, {"head", "delta, a decay a head", 1, true}, {"channel", "delta, a decay a channel", o.Int("D"), true}, {"additive", "additive, a decay a head", 1, false}} {
		if which := o.Word("decay"); which != "all" && which != r.which {
			continue
		}
		for _, f := range forms {
			for _, gradients := range []bool{false, true} {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				row, err := timeRecurrence(be, o, r.decays, r.erase, f, gradients)
				if err != nil {
					return oneLine(fmt.Errorf("%s, chunk %d: %w", r.name, f.Chunk, err))
				}
				row.Recurrence = r.name
				rows = append(rows, row)
				if terminal(s.Err) {
					fmt.Fprintf(s.Err, "\r\x1b[K%s %s %s", row.Recurrence, row.Form, row.Pass)
				}
			}
		}
	}
	if terminal(s.Err) {
		fmt.Fprint(s.Err, "\r\x1b[K")
	}
	if asJSON {
		e := json.NewEncoder(s.Out)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"backend": s.choice.String(), "versions": versions(), "shape": o, "rows": rows})
	}
	t := &table{header: []string{"recurrence", "form", "pass", "median ms", "least", "most", "tokens/s", "GFLOP/s", "first call s"}}
	for _, r := range rows {
		t.add(r.Recurrence, r.Form, r.Pass, fmt.Sprintf("%.3g", r.Median), fmt.Sprintf("%.3g", r.Least), fmt.Sprintf("%.3g", r.Most),
			short(r.TokensPerS), short(r.GFLOPs/r.Median*1e3), fmt.Sprintf("%.1f", r.Compile))
	}
	_, err = fmt.Fprintf(s.Out, "%sB=%d T=%d H=%d D=%d %s on %s\n", t.text(), o.Int("B"), o.Int("T"), o.Int("H"), o.Int("D"), o.Word("dtype"), s.choice.Config)
	return err
}

// timeRecurrence compiles one evaluation and times it: the call, its outputs in
// device memory, and one number read back so that the call has ended.
func timeRecurrence(be compute.Backend, o option.Values, decays int, erase bool, form delta.Form, gradients bool) (row BenchRow, err error) {
	B, T, H, D := o.Int("B"), o.Int("T"), o.Int("H"), o.Int("D")
	dtype := dtypes.Float32
	if o.Word("dtype") == "bfloat16" {
		dtype = dtypes.BFloat16
	}
	row = BenchRow{Form: fmt.Sprintf("chunk %d", form.Chunk), Pass: "forward"}
	if form.Narrow {
		row.Form += ", narrow"
	}
	if gradients {
		row.Pass = "with gradients"
	}
	build := func(x []*Node) []*Node {
		in := delta.Inputs{Q: x[0], K: x[1], Write: x[2]}
		rest := x[3:]
		if erase {
			in.Erase, rest = rest[0], rest[1:]
		}
		if decays > 0 {
			in.LogDecay = rest[0]
		}
		out := delta.Run(in, form)
		outs := []*Node{out.O, out.State}
		if gradients {
			outs = append(outs, Gradient(ReduceAllSum(ConvertDType(Mul(out.O, out.O), dtypes.Float32)), x...)...)
		}
		last := outs[len(outs)-1]
		first := SliceAxis(Reshape(last, -1), 0, AxisElem(0))
		return append([]*Node{ConvertDType(first, dtypes.Float32)}, outs...)
	}
	inputs, err := NewExec(be, func(g *Graph) []*Node { return benchInputs(g, dtype, B, T, H, D, decays, erase) })
	if err != nil {
		return row, err
	}
	ts, err := inputs.Call()
	if err != nil {
		return row, err
	}
	args := make([]any, len(ts))
	for i, t := range ts {
		args[i] = t
	}
	exec, err := NewExec(be, func(x []*Node) []*Node {
		outs := build(x)
		row.GFLOPs = grad.ProductFLOPs(x[0].Graph()) / 1e9
		return outs
	})
	if err != nil {
		return row, err
	}
	call := func() (float64, error) {
		start := time.Now()
		outs, err := exec.Call(args...)
		if err != nil {
			return 0, err
		}
		tensors.MustCopyFlatData[float32](outs[0])
		took := time.Since(start).Seconds()
		for _, t := range outs {
			t.MustFinalizeAll()
		}
		return took, nil
	}
	if row.Compile, err = call(); err != nil {
		return row, err
	}
	var times []float64
	for range o.Int("repeat") + 2 {
		took, err := call()
		if err != nil {
			return row, err
		}
		times = append(times, 1e3*took)
	}
	times = times[2:] // the first calls warm caches and clocks
	slices.Sort(times)
	row.Least, row.Median, row.Most = times[0], times[len(times)/2], times[len(times)-1]
	row.TokensPerS = float64(B*T) / row.Median * 1e3
	exec.Finalize()
	return row, nil
}

// benchInputs makes inputs on the device: unit keys, e = k/2, log-decays in
// (-0.1, 0).
func benchInputs(g *Graph, dtype dtypes.DType, B, T, H, D, decays int, erase bool) []*Node {
	wave := func(speed float64, dims ...int) *Node {
		n := shapes.Make(dtypes.Float32, dims...).Size()
		i := Reshape(Iota(g, shapes.Make(dtypes.Float32, n), 0), dims...)
		return Sin(MulScalar(i, speed))
	}
	k := grad.L2(wave(0.77, B, T, H, D), 1e-6)
	out := []*Node{wave(0.31, B, T, H, D), k, wave(0.53, B, T, H, D)}
	if erase {
		out = append(out, MulScalar(k, 0.5))
	}
	if decays > 0 {
		dims := []int{B, T, H}
		if decays > 1 {
			dims = append(dims, D)
		}
		out = append(out, AddScalar(MulScalar(wave(0.11, dims...), 0.05), -0.05))
	}
	for i := range out {
		out[i] = ConvertDType(out[i], dtype)
	}
	return out
}
