package viz_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kalmarz/kalmarz/viz"
)

// Accuracy of two mixers beyond the trained length, three seeds each.
func Example() {
	f := viz.Figure{
		Kind:  viz.Length,
		Title: "MQAR: accuracy beyond the trained length",
		X: viz.Axis{Label: "sequence length over trained length", Unit: "1",
			Ticks: []viz.Tick{{At: 1, Label: "1x"}, {At: 2, Label: "2x"}, {At: 4, Label: "4x"}}},
		Series: []viz.Series{
			{Name: "deltanet", X: []float64{1, 2, 4}, Y: [][]float64{{.97, .98, .96}, {.80, .84, .79}, {.51, .55, .49}}},
			{Name: "kaczmarz", X: []float64{1, 2, 4}, Y: [][]float64{{.99, .98, .99}, {.95, .96, .94}, {.88, .90, .87}}},
		},
		Guides: []viz.Guide{viz.Chance(1.0 / 64)},
	}
	dir, err := os.MkdirTemp("", "viz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	saved, err := f.Save(dir, "length", viz.Paper())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range saved.Files {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// length.svg
	// length.png
	// length.pdf
	// length.csv
}

// A paper's figure, with its published values and three seeds of one's own.
func ExamplePreset() {
	p, err := viz.PresetNamed("kaczmarz-mqar")
	if err != nil {
		fmt.Println(err)
		return
	}
	f := p.Figure(viz.Series{Name: "kaczmarz", X: []float64{1, 8}, Y: [][]float64{{1, .99, 1}, {.74, .81, .70}}})
	if _, err := f.SVG(viz.Notebook()); err != nil {
		fmt.Println(err)
	}
	for _, s := range f.Series {
		fmt.Printf("%s %v %v %q\n", s.Name, s.X, s.Y, s.Source)
	}
	// Output:
	// kaczmarz [1 8] [[1 0.99 1] [0.74 0.81 0.7]] ""
	// kaczmarz [8] [[0.7384]] "arXiv 2605.08587"
	// gdn [8] [[0.6681]] "arXiv 2605.08587"
}
