package lab

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Without process noise the filters become far more certain than the bound that
// noise gives them; every stack is in the table and the figure.
func TestStability(t *testing.T) {
	onPureGo(t)
	run := func(words string) (string, string, error) {
		dir := t.TempDir()
		var out strings.Builder
		s := NewSession(&out, io.Discard)
		s.Backend = "go"
		err := stability(context.Background(), s, append(strings.Fields(words), "out="+dir))
		return out.String(), dir, err
	}
	out, dir, err := run("1 2 width=8 d_state=2 steps=2 seeds=1 batch=4 eval_rows=4 lengths=1 dt=0.5:1")
	if err != nil {
		t.Fatal(err)
	}
	precision := map[string]float64{}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.Fields(line); len(f) == 6 && f[2] == "1" {
			v, err := strconv.ParseFloat(f[5], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			precision[f[0]+" "+f[1]] = v
		}
	}
	for _, n := range []string{"1", "2"} {
		// A state of rate 1 and noise 0.01 is never surer than 200 by itself.
		if ou, none := precision[n+" ou"], precision[n+" none"]; !(ou > 0 && ou < 1000 && none > 1000*ou) {
			t.Errorf("%s layers: precision %g with noise, %g without, in:\n%s", n, ou, none, out)
		}
	}
	figures, err := filepath.Glob(filepath.Join(dir, "*", "stability.csv"))
	if err != nil || len(figures) != 1 {
		t.Fatalf("figures %v, %v", figures, err)
	}
	f, err := os.Open(figures[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord = '#', -1
	if rows, err := r.ReadAll(); err != nil || len(rows) < 12 { // three panels of two lines of two points
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for words, want := range map[string]string{
		"1 1": `"1": depths must be different`, "two": `"two": depths must be`, "1 mixer=gdn": "stability needs the mixer kalman", "0": "depths",
	} {
		if _, _, err := run(words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", words, err, want)
		}
	}
}
