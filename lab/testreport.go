package lab

import (
	"fmt"
	"io"
	"strings"
)

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

// judge compares errors with the limits; NaN never passes.
func (r *TestRow) judge(value, gradient float64, valueAt, gradientAt string) {
	r.Value, r.Gradient, r.ValueAt, r.GradientAt = Number(value), Number(gradient), valueAt, strings.TrimPrefix(gradientAt, "grad ")
	r.Pass = r.Value <= r.ValueLimit && (r.GradientLimit == 0 || r.Gradient <= r.GradientLimit)
}

// TestReport is all that a selftest measured and what it depends on.
type TestReport struct {
	Origin
	Of   string    `json:"of,omitempty"` // kernels, golden, or chunks and their lengths; "" is the mixers
	Rows []TestRow `json:"rows"`

	s      *Session
	json   bool
	save   string
	unsaid error // of writing it
}

func (r *TestReport) begin(s *Session) {
	r.s, r.Origin = s, s.origin()
}

// path is where --save keeps it.
func (r *TestReport) path() string {
	return r.keptPath(r.save, "selftest", r.Of)
}

// tell adds a row, shows it and keeps what there is: what is measured outlives
// whatever comes.
func (r *TestReport) tell(row TestRow) {
	r.Rows = append(r.Rows, row)
	if r.save != "" {
		r.unsaid = writeJSON(r.path(), r)
	}
	switch {
	case terminal(r.s.Err):
		fmt.Fprintf(r.s.Err, "\r\x1b[K%s %s %s", row.Mixer, row.Form, row.DType)
	case r.s.choice.Platform != "go": // where a row takes seconds
		r.s.note(fmt.Sprintf("[%d] %s, %.1f s", len(r.Rows), strings.Join(row.cells(), "  "), float64(row.Seconds)))
	}
}

// cells are the row's in a table.
func (r TestRow) cells() []string {
	value, gradient, limit, verdict := fmt.Sprintf("%.1e", float64(r.Value)), fmt.Sprintf("%.1e", float64(r.Gradient)), fmt.Sprintf("%.0e", float64(r.GradientLimit)), "ok"
	if r.GradientLimit == 0 {
		gradient, limit = "-", "-"
	}
	if r.Error != "" {
		value, gradient = "-", "-"
	}
	if !r.Pass {
		verdict = strings.TrimSpace("FAILED " + r.Error)
	}
	return []string{r.Mixer, r.Form, r.DType, value, fmt.Sprintf("%.0e", float64(r.ValueLimit)), r.ValueAt, gradient, limit, r.GradientAt, verdict}
}

// deliver prints the rows and fails if one of them does.
func (r *TestReport) deliver() error {
	if terminal(r.s.Err) {
		fmt.Fprint(r.s.Err, "\r\x1b[K")
	}
	failed := 0
	t := &table{header: []string{"mixer", "form", "dtype", "values", "limit", "at", "gradients", "limit", "at", ""}}
	for _, row := range r.Rows {
		if !row.Pass {
			failed++
		}
		t.add(row.cells()...)
	}
	if r.json {
		if err := printJSON(r.s.Out, r); err != nil {
			return err
		}
	} else {
		text := t.text() + fmt.Sprintf("%d of %d within tolerance on %s; relative to the largest value of each array, against float64\n", len(r.Rows)-failed, len(r.Rows), r.s.choice.Config)
		if r.save != "" && r.unsaid == nil {
			text += "saved " + r.path() + "\n"
		}
		if _, err := io.WriteString(r.s.Out, text); err != nil {
			return err
		}
	}
	if r.unsaid != nil {
		return r.unsaid
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}
