package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalmarz/kalmarz/layers/option"
)

// bench is one thing that can be timed; its rows are made from its options.
type bench struct {
	name, help string
	keys       []string          // the options it reads
	usual      map[string]string // its own defaults
	published  map[string]string // its sizes under a preset BxTy
	rows       func(o option.Values, overview bool) ([]benchCase, error)
}

// benches is the table of what can be timed.
var benches = []bench{
	{"delta", "the matrix recurrence behind most mixers", []string{"B", "T", "H", "D", "decay", "dtype", "form", "chunks", "plan", "pass"},
		map[string]string{"T": "128"}, map[string]string{"H": "16", "D": "128", "dtype": "bfloat16"}, deltaRows},
	{"filter", "the scan of a Kalman filter", []string{"B", "T", "M", "S", "dtype", "form", "plan", "pass"},
		map[string]string{"T": "128"}, map[string]string{"M": "1024", "S": "16"}, filterRows},
	{"scan", "scans of affine, Möbius and max-plus maps, M x S numbers wide", []string{"B", "T", "M", "S", "form", "pass"},
		map[string]string{"T": "256", "B": "1"}, map[string]string{"M": "1024", "S": "16"}, scanRows},
	{"attention", "causal softmax attention", []string{"B", "T", "H", "D", "dtype", "form", "plan", "pass"},
		map[string]string{"T": "128"}, map[string]string{"H": "16", "D": "128", "dtype": "bfloat16"}, attentionRows},
	{"layer", "whole mixers of width H x D: projections, gates and recurrence", []string{"mixers", "B", "T", "H", "D", "dtype", "pass"},
		map[string]string{"T": "128", "mixers": "softmax,mamba2,gdn,kaczmarz,kalman"}, map[string]string{"H": "16", "D": "128", "dtype": "bfloat16"}, layerRows},
	{"train", "a training step of a model, as train takes it", []string{"mixers", "model", "vocab", "heads", "B", "T", "precision", "form"},
		map[string]string{"B": "0", "T": ""}, nil, trainRows},
	{"prefill", "a prompt of T tokens to the logits that follow it", []string{"mixers", "model", "vocab", "heads", "B", "T", "precision", "form"},
		map[string]string{"B": "1", "T": ""}, nil, prefillRows},
	{"decode", "one token after another, after T tokens", []string{"mixers", "model", "vocab", "heads", "B", "T", "precision", "steps"},
		map[string]string{"B": "1", "T": ""}, nil, decodeRows},
}

// runBench times what the words name and reports it.
func runBench(ctx context.Context, s *Session, args []string) error {
	_, args = s.place(args)
	q, err := readBench(args)
	if err != nil {
		return err
	}
	if q.from != "" {
		r, err := readBenchReport(q.from)
		if err != nil {
			return err
		}
		if q.save != "" {
			return fmt.Errorf("bench: --save goes with a measurement, not with --from")
		}
		return r.deliver(s.Out, q)
	}
	var cases []benchCase
	for _, b := range q.benches {
		rows, err := b.rows(b.values, q.overview)
		if err != nil {
			return fmt.Errorf("bench %s: %w", b.name, err)
		}
		cases = append(cases, rows...)
	}
	if err := q.writable(); err != nil {
		return err
	}
	if _, err := s.open(); err != nil {
		return err
	}
	r := s.newBenchReport(q)
	r.Rates = rateSizes(s.choice.Platform)
	if err := r.Rates.measure(s.be, s.choice.Platform, dtypesOf(cases), q.limits); err != nil {
		r.Rates = nil
		s.note("warning: no shares: " + shortReason(err))
	}
	measured := s.timeCases(ctx, cases, q, r)
	if err := errors.Join(r.deliver(s.Out, q), measured); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Rows, func(x BenchRow) bool { return x.Error == "" }) {
		return errFailed
	}
	return nil
}

// timeCases adds a row to the report for each case. What a case cannot do is
// said in its row; only an interrupt ends the rest.
func (s *Session) timeCases(ctx context.Context, cases []benchCase, q *benchQuery, r *BenchReport) error {
	live := terminal(s.Err)
	for i, c := range cases {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d of %d rows", i, len(cases))
		}
		if live {
			fmt.Fprintf(s.Err, "\r\x1b[K[%d/%d] %s %s %s %s", i+1, len(cases), c.Bench, c.What, c.Form, c.Pass)
		}
		row := s.timeCase(c, q, r.Rates)
		r.Rows = append(r.Rows, row)
		if !live && !q.overview {
			s.note(fmt.Sprintf("[%d/%d] %s", i+1, len(cases), row.summary()))
		}
		if q.save != "" { // what is measured outlives whatever comes
			if err := writeJSON(r.path(q.save), r); err != nil {
				return err
			}
		}
		if c.shared != nil && (i+1 == len(cases) || cases[i+1].shared != c.shared) {
			c.shared.close()
		}
	}
	if live {
		fmt.Fprint(s.Err, "\r\x1b[K")
	}
	return nil
}

// timeCase compiles and times one case.
func (s *Session) timeCase(c benchCase, q *benchQuery, rates *deviceRates) (row BenchRow) {
	row = c.BenchRow
	full := false
	fail := func(err error) BenchRow {
		row.Error, full = shortReason(err), noMemory(explain(err, lessTiming))
		return row
	}
	defer func() {
		if err := recover(); err != nil {
			row = fail(fmt.Errorf("%v", err))
		}
		if full {
			reclaim() // for the rows that follow
		}
	}()
	if c.cannot != nil {
		return fail(c.cannot)
	}
	peak := beginPeak()
	began := time.Now()
	x, err := c.open(s.be)
	if err != nil {
		return fail(err)
	}
	defer x.close()
	row.Compile = (time.Since(began) - x.prepared).Seconds()
	row.GFLOP, row.Bytes, row.Steps = x.flops/1e9, x.bytes, max(1, x.steps)
	if err := fits(x.graph); err != nil {
		return fail(err)
	}
	if err := row.time(x, q.limits, s.choice.Platform); err != nil {
		return fail(err)
	}
	if row.Memory = deviceMemory(x.graph.Executable()); row.Memory == nil {
		m := peak()
		row.Memory = &m
	}
	row.compare(rates)
	return row
}

// dtypesOf lists the types of the products in some rows.
func dtypesOf(cases []benchCase) (out []string) {
	for _, c := range cases {
		if !slices.Contains(out, c.DType) {
			out = append(out, c.DType)
		}
	}
	return out
}
