package viz

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var (
	update = flag.Bool("update", false, "write the golden figures anew")
	png    = flag.String("png", "", "folder to write the golden figures to as PNG, to be looked at")
)

func TestGolden(t *testing.T) {
	seen := map[Kind]bool{}
	for _, g := range goldens() {
		seen[g.fig.Kind] = true
		t.Run(g.name, func(t *testing.T) {
			svg, err := g.fig.SVG(g.style)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", g.name+".svg")
			if *update {
				if err := os.WriteFile(path, svg, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if *png != "" {
				b, err := g.fig.PNG(g.style)
				if err == nil {
					err = os.WriteFile(filepath.Join(*png, g.name+".png"), b, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(svg, want) {
				t.Errorf("%s differs from what is drawn now; if the change is meant, look at it and run with -update", path)
			}
		})
	}
	for _, k := range Kinds() {
		if !seen[k] {
			t.Errorf("kind %s has no golden figure", k)
		}
	}
}
