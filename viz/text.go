package viz

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
)

// fonts are compiled in, so measuring and PNG need nothing from the machine.
var fonts = font.NewCache(liberation.Collection())

const (
	ascent  = 0.74 // of digits and capitals, as a part of the font size
	descent = 0.22
	leading = 1.22 // from line to line
)

// face is a size and weight of the one typeface used.
type face struct {
	size vg.Length
	bold bool
}

func (th *theme) open(f face, scale vg.Length) font.Face {
	w := xfont.WeightNormal
	if f.bold && !th.simple { // the plot library's PDF writer does not find its bold faces
		w = xfont.WeightBold
	}
	return fonts.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: w}, f.size*scale)
}

// run is a piece of text at one height.
type run struct {
	text   string
	raised bool
}

const supers, plains = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀⁿ", "0123456789−+Tn"

// runs splits text at superscripts: the typeface has no ⁰, ⁹ or ⁻ of its own.
func (th *theme) runs(text string) []run {
	var out []run
	up, down := []rune(supers), []rune(plains)
	for _, r := range clean(text) {
		raised := false
		for i := range up {
			if r == up[i] {
				r, raised = down[i], true
			}
		}
		if n := len(out); n > 0 && out[n-1].raised == raised {
			out[n-1].text += string(r)
			continue
		}
		out = append(out, run{string(r), raised})
	}
	for i := range out {
		if th.simple {
			out[i].text = ascii(out[i].text)
		}
	}
	return out
}

const raise, small = 0.36, 0.7

var spelt = strings.NewReplacer("−", "-", "–", "-", "—", "-", "‖", "||", "≤", "<=", "≥", ">=", "…", "...", "×", "x",
	"α", "alpha", "β", "beta", "γ", "gamma", "δ", "delta", "ε", "eps", "η", "eta", "κ", "kappa", "λ", "lambda",
	"μ", "mu", "σ", "sigma", "τ", "tau", "χ", "chi", "∞", "inf", "∂", "d ", "Δ", "Delta ", "Σ", "Sum ",
	"±", "+/-", "“", "\"", "”", "\"", "·", ".", "√", "sqrt ")

// ascii spells out what the plot library's PDF writer cannot show.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, spelt.Replace(s))
}

// clean makes any string drawable: no control characters, which XML forbids.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`, "∝", "~", "⟨", "<", "⟩", ">").Replace(s)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return '·'
		}
		return r
	}, s)
}

func (th *theme) width(f face, s string) vg.Length {
	var w vg.Length
	for _, r := range th.runs(s) {
		scale := vg.Length(1)
		if r.raised {
			scale = small
		}
		open := th.open(f, scale)
		w += open.Width(r.text)
	}
	return w
}

// text draws one line with its baseline at p, shifted left by align times its
// width (0: from p on, 0.5: centred, 1: up to p), or upwards if turned.
func (th *theme) text(c vg.Canvas, f face, col color.NRGBA, p vg.Point, align float64, turned bool, s string) {
	start := -vg.Length(align) * th.width(f, s)
	c.Push()
	defer c.Pop()
	c.SetColor(col)
	if turned {
		c.Translate(p)
		c.Rotate(math.Pi / 2)
		p = vg.Point{}
	}
	p.X += start
	for _, r := range th.runs(s) {
		open, q := th.open(f, 1), p
		if r.raised {
			open = th.open(f, small)
			q.Y += raise * f.size
		}
		c.FillString(open, q, r.text)
		p.X += open.Width(r.text)
	}
}

// words parts text at blanks, but keeps "n = 3" together.
func words(s string) (out []string) {
	fields := strings.Fields(s)
	for i := 0; i < len(fields); i++ {
		if fields[i] == "=" && len(out) > 0 && i+1 < len(fields) {
			out[len(out)-1] += " = " + fields[i+1]
			i++
			continue
		}
		out = append(out, fields[i])
	}
	return out
}

// wrap breaks text into lines that fit; a word that is too long is cut.
func (th *theme) wrap(f face, s string, room vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if joined := strings.TrimSpace(line + " " + word); th.width(f, joined) <= room {
			line = joined
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; th.width(f, line) > room && len([]rune(line)) > 1; {
			cut := []rune(line)
			n := len(cut) - 1
			for n > 1 && th.width(f, string(cut[:n])) > room {
				n--
			}
			lines, line = append(lines, string(cut[:n])), string(cut[n:])
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// number is a short decimal with a true minus sign.
func number(v float64) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'g', 4, 64), "-", "−")
}
