package lab

import (
	"fmt"
)

// path is where a report is kept.
func (r *BenchReport) path(to string) string {
	return r.keptPath(to, r.Benches...)
}

// writable fails before anything is measured if results could not be kept.
func (q *benchQuery) writable() error {
	if q.figure != "" {
		if dir, _ := figurePlace(q.figure); writable(dir) != nil {
			return fmt.Errorf("--figure %s: %w", q.figure, writable(dir))
		}
	}
	if q.save != "" {
		if err := writableFor(q.save); err != nil {
			return fmt.Errorf("--save %s: %w", q.save, err)
		}
	}
	return nil
}

// readBenchReport reads what --save or --json left.
func readBenchReport(path string) (*BenchReport, error) {
	r := &BenchReport{}
	if err := readJSON(path, r); err != nil {
		return nil, fmt.Errorf("%w: no report of bench", err)
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s: no report of bench: it has no rows", path)
	}
	return r, nil
}
