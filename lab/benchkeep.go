package lab

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var fileWords = regexp.MustCompile(`[^a-z0-9]+`)

// path is where a report is kept.
func (r *BenchReport) path(to string) string {
	return keptPath(to, r.Device, r.Backend, r.Started, r.Benches...)
}

// keptPath is where --save keeps what was measured: a file, or in a folder a name
// made of the device, the day and what it was.
func keptPath(to, device, backend string, day time.Time, what ...string) string {
	if strings.HasSuffix(to, ".json") {
		return to
	}
	device, _, _ = strings.Cut(device, ",")
	platform, _, _ := strings.Cut(backend, ",")
	platform, _, _ = strings.Cut(platform, " ")
	platform, _, _ = strings.Cut(platform, ":parallelism")
	name := strings.Join(append([]string{device, platform, day.Format("2006-01-02")}, what...), " ")
	return filepath.Join(to, strings.Trim(fileWords.ReplaceAllString(strings.ToLower(name), "-"), "-")+".json")
}

// writableFor fails if --save could not keep a report there.
func writableFor(to string) error {
	if strings.HasSuffix(to, ".json") {
		to = filepath.Dir(to)
	}
	return writable(to)
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
