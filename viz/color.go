package viz

import (
	"image/color"
	"math"
)

// lab is a colour in OKLab (B. Ottosson, 2020): equal distances look about
// equally different, and l alone is what remains in grey.
type lab struct{ l, a, b float64 }

func polar(l, chroma, hue float64) lab {
	s, c := math.Sincos(hue * math.Pi / 180)
	return lab{l, chroma * c, chroma * s}
}

func (p lab) to(q lab, t float64) lab {
	return lab{p.l + t*(q.l-p.l), p.a + t*(q.a-p.a), p.b + t*(q.b-p.b)}
}

func (p lab) distance(q lab) float64 { return math.Hypot(math.Hypot(p.l-q.l, p.a-q.a), p.b-q.b) }

// linear is the colour in linear sRGB; it may lie outside [0, 1].
func (p lab) linear() [3]float64 {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(p.l + 0.3963377774*p.a + 0.2158037573*p.b)
	m := cube(p.l - 0.1055613458*p.a - 0.0638541728*p.b)
	s := cube(p.l - 0.0894841775*p.a - 1.2914855480*p.b)
	return [3]float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s,
	}
}

func (p lab) rgb() color.NRGBA {
	var out [3]uint8
	for i, v := range p.linear() {
		v = min(max(v, 0), 1)
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		out[i] = uint8(math.Round(255 * v))
	}
	return color.NRGBA{out[0], out[1], out[2], 0xff}
}

// colorMap is a path through OKLab, walked at even speed.
type colorMap []lab

var (
	// rising goes from dark blue over green to light yellow, ever lighter, so
	// its order survives print in grey.
	rising = colorMap{polar(0.26, 0.10, 285), polar(0.44, 0.105, 250), polar(0.62, 0.10, 185), polar(0.78, 0.13, 140), polar(0.93, 0.13, 105)}
	// twoSided is palest at its middle.
	twoSided = colorMap{polar(0.42, 0.13, 255), polar(0.68, 0.10, 245), polar(0.965, 0.005, 100), polar(0.72, 0.11, 55), polar(0.45, 0.13, 35)}
)

// at is the colour at t in [0, 1]; beyond, that of the end.
func (m colorMap) at(t float64) lab {
	total := 0.0
	for i := 1; i < len(m); i++ {
		total += m[i-1].distance(m[i])
	}
	if len(m)%2 == 1 && m[len(m)/2].l > m[0].l && m[len(m)/2].l > m[len(m)-1].l {
		return m.halves(t)
	}
	walk := min(max(t, 0), 1) * total
	for i := 1; i < len(m); i++ {
		d := m[i-1].distance(m[i])
		if walk <= d || i == len(m)-1 {
			return m[i-1].to(m[i], min(walk/d, 1))
		}
		walk -= d
	}
	return m[0]
}

// halves walks each half of a two-sided path by itself, so that its middle
// lies at t = 1/2.
func (m colorMap) halves(t float64) lab {
	mid := len(m) / 2
	if t < 0.5 {
		return m[:mid+1].at(2 * t)
	}
	return m[mid:].at(2*t - 1)
}
