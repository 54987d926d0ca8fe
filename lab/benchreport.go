package lab

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// BenchReport is all that a bench measured and what it depends on.
type BenchReport struct {
	Origin
	Benches []string     `json:"benches"`
	Numbers string       `json:"numbers"` // what they include
	Rates   *deviceRates `json:"rates"`
	Rows    []BenchRow   `json:"rows"`
}

// Shape is the sizes of a row by their letters.
type Shape map[string]int

// BenchRow is one measurement, or why there is none.
type BenchRow struct {
	Bench  string `json:"bench"`
	What   string `json:"what"`
	Form   string `json:"form"`
	Pass   string `json:"pass"`
	DType  string `json:"dtype"` // of the products
	Shape  Shape  `json:"shape"`
	Tokens int    `json:"tokens"` // a step
	Steps  int    `json:"steps_per_call,omitempty"`
	Ahead  int    `json:"calls_under_way,omitempty"`

	Compile    float64 `json:"compile_s"` // building the graph and compiling it
	Samples    int     `json:"samples"`
	Median     float64 `json:"median_ms"` // a step
	Least      float64 `json:"least_ms"`
	Most       float64 `json:"most_ms"`
	Latency    float64 `json:"call_ms"` // median of calls one by one
	TokensPerS float64 `json:"tokens_per_second"`

	GFLOP        float64 `json:"gflop"` // of the matrix products of a step
	ProductShare float64 `json:"share_of_product_rate"`
	Bytes        float64 `json:"least_bytes"` // a step moves at the least
	CopyShare    float64 `json:"share_of_copy_rate"`
	Memory       *Memory `json:"peak_memory,omitempty"`

	Error string `json:"error,omitempty"`
}

const benchNumbers = "Median ms is of a step, wall-clock, after warm-up, with compilation apart. A call launches one graph and ends when the device has ended and one number has been read; " +
	"call_ms is the median of calls one by one, launch included. Where calls_under_way is above 1 the median is of so many calls side by side, which hides the launch. " +
	"A call of train copies a batch in and reads loss and norms; one of decode is steps_per_call tokens, which are read. " +
	"gflop counts matrix products as the graph has them and, without those of inverses, as fused kernels do, least_bytes everything given and made, once; shares are of the rates measured in the same process."

func (s *Session) newBenchReport(q *benchQuery) *BenchReport {
	var names []string
	for _, b := range q.benches {
		names = append(names, b.name)
	}
	return &BenchReport{Origin: s.origin(), Benches: names, Numbers: benchNumbers}
}

// String is the shape with its letters in the order of an array's axes.
func (s Shape) String() string {
	var out []string
	for _, axis := range []string{"B", "T", "H", "D", "W", "M", "S", "V"} {
		if n, ok := s[axis]; ok {
			out = append(out, fmt.Sprint(axis, n))
		}
	}
	return strings.Join(out, " ")
}

// deliver prints the report, as JSON if asked for, keeps it and draws it.
func (r *BenchReport) deliver(w io.Writer, q *benchQuery) error {
	if len(r.Rows) == 0 {
		return nil
	}
	var err error
	if q.json {
		err = printJSON(w, r)
	} else {
		err = r.print(w)
	}
	note := func(format string, args ...any) {
		if !q.json {
			fmt.Fprintf(w, format, args...)
		}
	}
	if q.save != "" {
		note("saved %s\n", r.path(q.save))
	}
	if q.figure != "" {
		files, drawn := r.draw(q.figure)
		err = errors.Join(err, drawn)
		for _, f := range files {
			note("figure %s (also .png, .pdf, .csv)\n", f)
		}
	}
	return err
}
