// Package viz draws figures. A [Figure] is data (series, grid, guides) plus a
// [Kind]; it knows nothing of where the data came from.
//
// In a notebook, [Figure.SVG] or [Figure.PNG] with the style [Notebook] gives the
// bytes for an output cell. [Figure.Save] leaves SVG, PNG, PDF and the data as CSV
// beside each other. The same data gives the same bytes of SVG, PNG and CSV.
//
//	f := viz.Figure{Kind: viz.Length, Title: "MQAR", Series: []viz.Series{
//		{Name: "gdn", X: []float64{64, 128}, Y: [][]float64{{.97, .98}, {.80, .84}}}, // two seeds
//	}}
//	svg, err := f.SVG(viz.Notebook())
//
// What each kind needs:
//
//	Lines, Scaling   Series; both axes named (Scaling knows latency against length)
//	Length           Series of accuracies from 0 to 1
//	Training         Series with a value a run at every logged step
//	Bars             Series whose X counts the categories of X.Ticks, as in Categories("a", "b")
//	Depth            Series of smallest depths, +Inf for unsolved; Y.Max is the largest tried
//	Spectrum         Series with all eigenvalues of a step in its Y
//	Heat, Tokens     Grid, with a label and a unit for Heat
//	Multiples        Panels; what they leave empty is the figure's
//
// An axis that is left empty is the kind's own, limits come from the data, and
// a [Series] with a Source is a paper's: hollow marks, no interval. A [Preset] is
// a paper's figure with its published values in place: fill in one's own series.
//
// What a reader needs in order to judge a figure is always in it: a title,
// both axes with their units, how many runs stand behind each value, what the
// band or bar is, and which runs diverged. A value that is NaN or infinite
// counts as diverged: it is left out of the mean and named in the caption.
// A figure without data, with a ragged series or with nothing above 0 on a
// logarithmic axis is an error of one line that says so.
//
// Text may hold superscript characters (10⁻³, χ²): they are drawn raised.
package viz
