package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var fileWords = regexp.MustCompile(`[^a-z0-9]+`)

// path is where a report is kept: a file, or in a folder a name made of the
// device, the day and the benches.
func (r *BenchReport) path(to string) string {
	if strings.HasSuffix(to, ".json") {
		return to
	}
	device, _, _ := strings.Cut(r.Device, ",")
	platform, _, _ := strings.Cut(r.Backend, ",")
	platform, _, _ = strings.Cut(platform, " ")
	platform, _, _ = strings.Cut(platform, ":parallelism")
	name := strings.Join(append([]string{device, platform, r.Started.Format("2006-01-02")}, r.Benches...), " ")
	return filepath.Join(to, strings.Trim(fileWords.ReplaceAllString(strings.ToLower(name), "-"), "-")+".json")
}

// writable fails before anything is measured if results could not be kept.
func (q *benchQuery) writable() error {
	if q.figure != "" {
		if dir, _ := figurePlace(q.figure); writable(dir) != nil {
			return fmt.Errorf("--figure %s: %w", q.figure, writable(dir))
		}
	}
	if q.save != "" {
		dir := q.save
		if strings.HasSuffix(dir, ".json") {
			dir = filepath.Dir(dir)
		}
		if err := writable(dir); err != nil {
			return fmt.Errorf("--save %s: %w", q.save, err)
		}
	}
	return nil
}

// readBenchReport reads what --save or --json left.
func readBenchReport(path string) (*BenchReport, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	r := &BenchReport{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: no report of bench: %w", path, err)
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s: no report of bench: it has no rows", path)
	}
	return r, nil
}
