package viz

// Figure is data plus a kind. Fields that a kind does not use are ignored; an
// axis that is left empty takes the kind's own label, unit and scale.
type Figure struct {
	Kind    Kind
	Title   string
	X, Y    Axis
	Series  []Series
	Grid    *Grid    // the data of Heat and Tokens
	Panels  []Figure // the panels of Multiples
	Columns int      // panels a row; 0: up to three
	Guides  []Guide
	Slopes  []float64 // Scaling: exponents of the guides y ∝ x^slope
	Smooth  float64   // Training: the average's memory in points, from 1; 0: a fiftieth of them
	Samples string    // what n counts, in the plural; "seeds" if empty
	Caption string    // opens the caption; n, interval and losses are added to it
}

// Scale says how an axis spaces its values.
type Scale uint8

// Auto is the kind's own scale. Log2 has its ticks at powers of two.
const (
	Auto Scale = iota
	Linear
	Log2
	Log10
)

// Axis describes one axis. Label and Unit are needed unless the kind knows
// them. Min and Max are in data units and are taken from the data if they are
// equal; what lies outside is clipped. Ticks replace the automatic ones, as in
// 1x, 2x, 4x, 8x.
type Axis struct {
	Label    string
	Unit     string // "1" for a pure number
	Scale    Scale
	Min, Max float64
	Ticks    []Tick
}

// Tick is a labelled position; without a label it is a minor tick.
type Tick struct {
	At    float64
	Label string
}

// Categories gives ticks 0, 1, 2, ... with these names.
func Categories(names ...string) []Tick {
	ticks := make([]Tick, len(names))
	for i, n := range names {
		ticks[i] = Tick{float64(i), n}
	}
	return ticks
}

// Series is one line, or one group of bars. Y[i] holds one value a run at X[i]:
// runs may be missing (a shorter or empty Y[i]); NaN or ±Inf is a run that
// diverged. X need not be sorted. A Source marks published values: drawn as hollow
// markers, without interval, with the source in the legend, in the colour of the
// series of the same Name. The kinds of lines, bars and depth can show them.
type Series struct {
	Name   string
	X      []float64
	Y      [][]float64
	Source string
}

// Guide is a straight reference line, such as chance. Its label goes into the
// legend, where it cannot cover data.
type Guide struct {
	Label    string
	At       float64
	Vertical bool
}

// Chance is the guide for the accuracy of guessing.
func Chance(accuracy float64) Guide {
	return Guide{Label: "chance (" + number(accuracy) + ")", At: accuracy}
}

// Grid is a table of cells. Cells[row][col] holds one value a run; an empty
// cell was not measured and is shown as missing; one with only NaN diverged.
// Row 0 is drawn at the top.
type Grid struct {
	Rows, Cols []string
	Cells      [][][]float64
	Label      string  // of the colours
	Unit       string  // "1" for a pure number
	Signed     bool    // two-sided colours around 0
	Min, Max   float64 // ends of the colours; equal: from the data
}
