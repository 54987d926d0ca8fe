package cell

import (
	"math"
	"slices"

	"github.com/kalmarz/kalmarz/viz"
)

// curve is the losses of the runs of one name.
type curve struct {
	name string
	runs [][]float64
}

// points bounds the points of a curve that is drawn.
const points = 400

// figure is nil before the first step.
func (l *live) figure() *viz.Figure {
	f := &viz.Figure{Kind: viz.Training, Title: "training loss", X: viz.Axis{Min: 0, Max: float64(l.steps)}}
	for _, c := range l.series {
		longest := 0
		runs := slices.DeleteFunc(slices.Clone(c.runs), func(r []float64) bool { return len(r) == 0 }) // those that were there already
		for _, r := range runs {
			longest = max(longest, len(r))
		}
		s := viz.Series{Name: c.name}
		for i := 0; i < longest; i += 1 + l.steps/points {
			var y []float64
			for k, r := range runs {
				switch {
				case i < len(r):
					y = append(y, r[i])
				case k < len(runs)-1: // it ended early
					y = append(y, math.NaN())
				}
			}
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, y)
		}
		if longest > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if f.Series == nil {
		return nil
	}
	return f
}
