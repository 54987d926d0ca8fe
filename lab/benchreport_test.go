package lab

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBenchFigures: one for each bench and pass that has two lengths.
func TestBenchFigures(t *testing.T) {
	r := &BenchReport{Origin: Origin{Device: "A device, more"}}
	for _, T := range []int{64, 128, 256} {
		r.Rows = append(r.Rows,
			BenchRow{Bench: "prefill", What: "gdn", Form: "2x64", Pass: "forward", Shape: Shape{"T": T}, Median: float64(T)},
			BenchRow{Bench: "prefill", What: "softmax", Form: "2x64", Pass: "forward", Shape: Shape{"T": T}, Median: float64(T * T), Error: map[int]string{256: "out of memory"}[T]},
			BenchRow{Bench: "decode", What: "gdn", Form: "2x64", Pass: "a token", Shape: Shape{"T": T}, TokensPerS: 5})
	}
	r.Rows = append(r.Rows, BenchRow{Bench: "train", What: "gdn", Pass: "step", Shape: Shape{"T": 64}, Median: 1})
	f := r.figures()
	if len(f) != 2 || f[0].name != "prefill" || f[1].name != "decode" || len(f[0].Series) != 2 || len(f[0].Series[1].X) != 2 || f[1].Series[0].Y[2][0] != 5 {
		t.Fatalf("figures %+v", f)
	}
	dir := t.TempDir()
	files, err := r.draw(filepath.Join(dir, "x.png"))
	if err != nil || strings.Join(files, " ") != filepath.Join(dir, "x-prefill.svg")+" "+filepath.Join(dir, "x-decode.svg") {
		t.Errorf("%v %v", files, err)
	}
	r.Rows = r.Rows[:3]
	if _, err := r.draw(dir); err == nil || !strings.Contains(err.Error(), "nothing was measured at two lengths") {
		t.Errorf("one length: %v", err)
	}
}

func TestBenchPath(t *testing.T) {
	r := &BenchReport{Origin: Origin{Device: "NVIDIA H200, 143771 MiB, driver 580", Backend: "xla:cuda,tf32=false (asked for) from /x.so", Started: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)}, Benches: []string{"train", "decode"}}
	if got := r.path("lab/results"); got != "lab/results/nvidia-h200-xla-cuda-2026-11-30-train-decode.json" {
		t.Error(got)
	}
	if got := r.path("x/y.json"); got != "x/y.json" {
		t.Error(got)
	}
}
