package kernels

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// texts makes the kernels of one problem, forward and backward, and prints them:
// what a graph's first use of a shape takes before its compiler begins.
var texts = map[string]func() ([]*Function, error){
	"delta": func() ([]*Function, error) {
		d, err := NewDelta(16, 2048, 16, 128, 128, dtypes.BFloat16, Parts{Erases: true, Rated: true, Decays: true})
		return []*Function{d.Forward(), d.Backward(true)}, err
	},
	"kalman": func() ([]*Function, error) {
		f, err := NewKalman(8, 2048, 1024, 16, 0, dtypes.Float32, Kalman{Variance: true}, false)
		return []*Function{f.Forward(), f.Backward()}, err
	},
}

func makeAndPrint(t testing.TB, name string) {
	fs, err := texts[name]()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if len(f.text("@"+f.reader)) < 1000 {
			t.Fatalf("%s: no kernels", f.Name)
		}
	}
}

func BenchmarkTexts(b *testing.B) {
	for name := range texts {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				makeAndPrint(b, name)
			}
		})
	}
}

// Layers and graphs of one shape share their functions and the text of these;
// another plan or pass has its own.
func TestFunctionsAreShared(t *testing.T) {
	d, err := NewDelta(1, 64, 1, 16, 16, dtypes.BFloat16, Parts{Erases: true})
	if err != nil {
		t.Fatal(err)
	}
	builds := 0
	build := func() *Function { builds++; return d.Forward() }
	f := shared(d, "forward", build)
	again := d
	if shared(again, "forward", build) != f || builds != 1 {
		t.Errorf("made %d times", builds)
	}
	again.Plan.Warps = 8
	if shared(again, "forward", build) == f || shared(d, "backward", build) == f {
		t.Error("shared by different problems")
	}
	lean, full := f.text(""), f.text("@"+f.reader)
	if lean == full || f.text("") != lean || f.text("@"+f.reader) != full || f.print(f.lean) != lean {
		t.Error("texts are mixed up")
	}
	s, err := NewKalman(1, 40, 8, 4, 1, dtypes.Float32, Kalman{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if shared(s, "forward", s.Forward) != shared(s, "forward", s.Forward) {
		t.Error("a scan's are not shared")
	}
}
