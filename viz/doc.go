// Package viz draws figures. A [Figure] is data (series, grid, guides) plus a
// [Kind]; it knows nothing of where the data came from. One call to
// [Figure.Save] leaves SVG, PNG, PDF and the data as CSV beside each other, and
// the same data gives the same bytes of SVG, PNG and CSV.
//
// What a reader needs in order to judge a figure is always in it: a title,
// both axes with their units, how many runs stand behind each value, what the
// band or bar is, and which runs diverged. A value that is NaN or infinite
// counts as diverged: it is left out of the mean and named in the caption.
//
// Text may hold superscript characters (10⁻³, χ²): they are drawn raised.
package viz
