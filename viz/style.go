package viz

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Style is the physical look of a figure: the same data in another style has
// another size, never another content. The height follows from the content.
type Style struct {
	Name   string
	Width  vg.Length // of the whole figure
	Aspect vg.Length // height of the plot area over the figure's width
	Font   vg.Length // size of tick labels and legend
	Line   vg.Length // width of a data line
	DPI    int       // of the PNG
	Dark   bool
}

// Styles lists the styles that [StyleNamed] knows, dark ones included.
func Styles() []Style {
	list := []Style{
		{Name: "paper", Width: 3.25 * vg.Inch, Aspect: 0.58, Font: 8, Line: 1.1, DPI: 300},
		{Name: "paper-wide", Width: 6.75 * vg.Inch, Aspect: 0.36, Font: 8, Line: 1.1, DPI: 300},
		{Name: "talk", Width: 10 * vg.Inch, Aspect: 0.42, Font: 18, Line: 2.6, DPI: 144},
		{Name: "notebook", Width: 7 * vg.Inch, Aspect: 0.42, Font: 10.5, Line: 1.6, DPI: 144},
	}
	for _, s := range slices.Clone(list) {
		s.Name, s.Dark = s.Name+"-dark", true
		list = append(list, s)
	}
	return list
}

// StyleNamed finds a style: paper (3.25 in, 8 pt), paper-wide (6.75 in),
// talk, notebook, and each with -dark.
func StyleNamed(name string) (Style, error) {
	var known []string
	for _, s := range Styles() {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return Style{}, fmt.Errorf("unknown style %q: known are %s", name, strings.Join(known, ", "))
}

// Paper is the style for one column of a paper.
func Paper() Style { return Styles()[0] }

// PaperWide is the style for both columns of a paper.
func PaperWide() Style { return Styles()[1] }

// Talk is the style for slides.
func Talk() Style { return Styles()[2] }

// Notebook is the style for a notebook's output cell.
func Notebook() Style { return Styles()[3] }

func (s Style) check() error {
	if s.Width < vg.Inch || s.Width > 100*vg.Inch || s.Font <= 0 || s.Font > s.Width/12 || s.Line <= 0 || s.Aspect <= 0 || s.Aspect > 10 || s.DPI < 10 || s.DPI > 1200 {
		return fmt.Errorf("style %q: width %g pt, font %g pt, line %g pt, aspect %g, %d dpi: start from Paper(), Talk() or Notebook()",
			s.Name, s.Width.Points(), s.Font.Points(), s.Line.Points(), float64(s.Aspect), s.DPI)
	}
	return nil
}

// theme is a style made ready for drawing: its colours, and what the writer
// at hand cannot do.
type theme struct {
	Style
	ink, mid, faint, back color.NRGBA
	simple                bool // no transparency, no bold, only ASCII
	names                 []string
}

// id numbers names in the order of their first use, so that a name has one
// look in all panels of a figure.
func (th *theme) id(name string) int {
	if i := slices.Index(th.names, name); i >= 0 {
		return i
	}
	th.names = append(th.names, name)
	return len(th.names) - 1
}

func newTheme(s Style, simple bool) *theme {
	th := &theme{Style: s, simple: simple,
		ink: grey(0x1a), mid: grey(0x70), faint: grey(0xe2), back: grey(0xff)}
	if s.Dark {
		th.ink, th.mid, th.faint, th.back = grey(0xec), grey(0xa0), grey(0x3a), grey(0x16)
	}
	return th
}

func grey(v uint8) color.NRGBA { return color.NRGBA{v, v, v, 0xff} }

// veil is c at the given opacity; blended beforehand where the writer has no
// transparency.
func (th *theme) veil(c color.NRGBA, opacity float64) color.NRGBA {
	if th.simple {
		return th.blend(c, opacity)
	}
	c.A = uint8(255*opacity + 0.5)
	return c
}

// blend is c mixed into the background: as light as a veil, but opaque.
func (th *theme) blend(c color.NRGBA, opacity float64) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*opacity + float64(b)*(1-opacity) + 0.5) }
	return color.NRGBA{mix(c.R, th.back.R), mix(c.G, th.back.G), mix(c.B, th.back.B), 0xff}
}
