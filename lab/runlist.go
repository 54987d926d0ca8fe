package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// listedRun is a run that was found below a folder.
type listedRun struct {
	id  string // its path from there
	dir string
	r   *Record
	err error // why run.json could not be read; r is then nil
}

// listRuns finds the runs below a folder, the oldest first. A run's folder is
// not searched further.
func listRuns(root string) ([]listedRun, error) {
	if _, err := os.ReadDir(root); err != nil {
		return nil, fmt.Errorf("%s: %w", root, cause(err))
	}
	var runs []listedRun
	for level := []string{root}; len(level) > 0; {
		found, below := make([]*listedRun, len(level)), make([][]string, len(level))
		parallel(len(level), func(i int) { found[i], below[i] = visit(root, level[i]) })
		level = slices.Concat(below...)
		for _, f := range found {
			if f != nil {
				runs = append(runs, *f)
			}
		}
	}
	slices.SortFunc(runs, func(a, b listedRun) int {
		if a.r != nil && b.r != nil && !a.r.Started.Equal(b.r.Started) {
			return a.r.Started.Compare(b.r.Started)
		}
		return strings.Compare(a.id, b.id)
	})
	return runs, nil
}

// visit returns the run that a folder is, or the folders in it.
func visit(root, dir string) (*listedRun, []string) {
	b, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		f := &listedRun{dir: dir, r: &Record{}}
		if f.id, _ = filepath.Rel(root, dir); f.id == "." {
			f.id = filepath.Base(dir)
		}
		if err == nil {
			err = json.Unmarshal(b, f.r)
		}
		if err != nil {
			f.r, f.err = nil, err
		}
		return f, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // not ours to read, as lost+found
	}
	var below []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			below = append(below, filepath.Join(dir, e.Name()))
		}
	}
	return nil, below
}

// parallel calls f for 0..n-1 on all processors.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// status is how a run stands now: one that says it is running while no process
// has its folder was killed.
func (l listedRun) status() string {
	switch {
	case l.r == nil:
		return "unreadable"
	case l.r.Status == Running && !locked(l.dir):
		return "killed"
	}
	return string(l.r.Status)
}

// step is the last one taken; while a run has not ended its metrics tell.
func (l listedRun) step() int {
	if l.r.Status != Running {
		return l.r.Step
	}
	metrics, err := recoverMetrics(filepath.Join(l.dir, "metrics.jsonl"), func(string) {})
	if err != nil {
		return l.r.Step
	}
	return len(metrics)
}

// key is a value of the record's configuration.
func (r *Record) key(name string) string {
	for _, kv := range r.Config {
		if kv.Key == name {
			return kv.Value
		}
	}
	return ""
}

// runTable lists runs.
func runTable(runs []listedRun, now time.Time) *table {
	t := &table{header: []string{"run", "status", "step", "mixer", "task", "seed", "accuracy", "age"}}
	for _, l := range runs {
		if l.r == nil {
			t.add(l.id, l.status(), "", "", "", "", "", "")
			continue
		}
		step := fmt.Sprintf("%d/%s", l.step(), l.r.key("steps"))
		t.add(l.id, l.status(), step, l.r.key("mixer"), l.r.key("task"), fmt.Sprint(l.r.Seed), l.r.accuracyAt(1), age(now.Sub(l.r.Started)))
	}
	return t
}

// age is a time in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
}

// findRun returns the folder of a run that is named by a path, by its path from
// root, or by the beginning or the end of that if it is the only such run.
func findRun(root, name string) (string, error) {
	for _, dir := range []string{name, filepath.Join(root, name)} {
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
			return filepath.Clean(dir), nil
		}
	}
	runs, err := listRuns(root)
	if err != nil {
		return "", fmt.Errorf("no run %s: %w", name, err)
	}
	var known, matches []string
	dir := ""
	for _, l := range runs {
		known = append(known, l.id)
		if strings.HasPrefix(l.id, name) || strings.HasSuffix(l.id, name) {
			matches, dir = append(matches, l.id), l.dir
		}
	}
	switch n := len(matches); {
	case n == 1:
		return dir, nil
	case n == 0:
		return "", fmt.Errorf("no run %s below %s%s: see runs", name, root, nearest(name, known))
	case n > 5:
		matches = append(matches[:5], fmt.Sprintf("%d more", n-5))
	}
	return "", fmt.Errorf("run %s may be %s", name, strings.Join(matches, " or "))
}

// steps is how many the run is to take; 0 if its record does not say.
func (l listedRun) steps() int {
	n, _ := strconv.Atoi(l.r.key("steps"))
	return n
}
