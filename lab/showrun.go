package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// describe writes a record as aligned text, with its evaluations and a plot of
// the loss.
func (l listedRun) describe() (string, error) {
	r := l.r
	t := &table{header: []string{"run", l.id}}
	status := l.status()
	if r.Reason != "" {
		status += ": " + r.Reason
	}
	t.add("status", status)
	t.add("step", fmt.Sprintf("%d of %s", l.step(), r.key("steps")))
	for _, step := range r.Resumed {
		t.add("resumed", fmt.Sprintf("after step %d", step))
	}
	t.add("seed", fmt.Sprint(r.Seed))
	t.add("started", fmt.Sprintf("%s, took %.1f s", r.Started.Format(time.DateTime), r.Seconds))
	t.add("parameters", fmt.Sprint(r.Parameters))
	t.add("state", fmt.Sprintf("%d B a sequence", r.StateBytes))
	t.add("FLOPs/token", short(r.FLOPs))
	t.add("tokens/s", short(float64(r.TokensPerS)))
	if r.Peak != nil {
		t.add("peak memory", fmt.Sprintf("%.0f MB: %s", float64(r.Peak.Bytes)/1e6, r.Peak.Of))
	}
	if v := r.Validation; v != nil {
		t.add("validation", fmt.Sprintf("%.1f %%, %.4f nats on %d rows", 100*float64(v.Micro), float64(v.Loss), v.Rows))
	}
	t.add("final loss", fmt.Sprintf("%.4f", float64(r.Final)))
	t.add("backend", r.Backend)
	for _, x := range [][2]string{{"device", r.Device}, {"program", r.Program}, {"config hash", r.ConfigHash}, {"data hash", r.DataHash}} {
		if x[1] != "" {
			t.add(x[0], x[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		t.add(name, fmt.Sprint(r.Versions[name]))
	}
	t.add("command", strings.Join(r.Command, " "))
	var b strings.Builder
	b.WriteString(t.text())
	c := &table{header: []string{"key", "value"}}
	for _, kv := range r.Config {
		c.add(kv.Key, kv.Value)
	}
	fmt.Fprintf(&b, "\n%s", c.text())
	for _, t := range evaluationTables([]*Record{r}) {
		fmt.Fprintf(&b, "\n%s", t.text())
	}
	for _, n := range notEvaluated([]*Record{r}) {
		fmt.Fprintln(&b, n)
	}
	metrics, err := recoverMetrics(filepath.Join(l.dir, "metrics.jsonl"), func(string) {})
	if err != nil {
		return "", err
	}
	var loss []float64
	for _, m := range metrics {
		loss = append(loss, float64(m.Loss))
	}
	if plot := termPlot(loss, 64, 8); plot != "" {
		fmt.Fprintf(&b, "\ntraining loss, nats per scored position\n%s", plot)
	}
	return b.String(), nil
}

// differingKeys are the keys that runs do not have in common.
func differingKeys(runs []listedRun) (keys []string) {
	for _, kv := range runs[0].r.Config {
		if slices.ContainsFunc(runs, func(l listedRun) bool { return l.r.key(kv.Key) != kv.Value }) {
			keys = append(keys, kv.Key)
		}
	}
	for _, l := range runs[1:] {
		for _, kv := range l.r.Config { // keys that the first does not have
			if runs[0].r.key(kv.Key) == "" && kv.Value != "" && !slices.Contains(keys, kv.Key) {
				keys = append(keys, kv.Key)
			}
		}
	}
	return keys
}

// resultTable has a row a run: what it is where the runs differ, and what came
// out. Accuracy is that of the first way of lengthening.
func resultTable(runs []listedRun) *table {
	differing := differingKeys(runs)
	var factors []int
	for _, l := range runs {
		for _, e := range l.r.Evals {
			if e.Note == "" && !slices.Contains(factors, e.Factor) {
				factors = append(factors, e.Factor)
			}
		}
	}
	slices.Sort(factors)
	t := &table{header: append([]string{"run", "status"}, differing...)}
	t.header = append(t.header, "seed")
	for _, f := range factors {
		t.header = append(t.header, fmt.Sprintf("%dx", f))
	}
	t.header = append(t.header, "parameters", "state B", "FLOPs/token", "tokens/s", "peak MB", "loss")
	for _, l := range runs {
		row := []string{l.id, l.status()}
		for _, key := range differing {
			row = append(row, l.r.key(key))
		}
		row = append(row, fmt.Sprint(l.r.Seed))
		for _, f := range factors {
			row = append(row, l.r.accuracyAt(f))
		}
		t.add(append(row, fmt.Sprint(l.r.Parameters), fmt.Sprint(l.r.StateBytes), short(l.r.FLOPs), short(float64(l.r.TokensPerS)), megabytes(l.r.peakMB()), fmt.Sprintf("%.4f", float64(l.r.Final)))...)
	}
	return t
}

// accuracyAt is the accuracy at one length in the first mode that has it, in %,
// or nothing.
func (r *Record) accuracyAt(factor int) string {
	for _, e := range r.Evals {
		if e.Note == "" && e.Factor == factor {
			return fmt.Sprintf("%.1f", 100*float64(e.Micro))
		}
	}
	return ""
}
