package viz

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// linearTicks are multiples of 1, 2 or 5 times a power of ten, about n of them.
func linearTicks(low, high float64, n int) []Tick {
	raw := (high - low) / float64(max(n, 1))
	if !(raw > 0) || !finite(raw) {
		return nil
	}
	power := math.Floor(math.Log10(raw))
	unit := math.Pow(10, power)
	step := 10 * unit
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= raw*0.75 {
			step = m * unit
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []Tick
	for i := math.Ceil(low/step - 1e-9); i <= high/step+1e-9 && len(ticks) < 100; i++ {
		ticks = append(ticks, Tick{i * step, decimal(i*step, decimals)})
	}
	return ticks
}

// decimal writes plain numbers while they are short, else mantissa and power.
func decimal(v float64, decimals int) string {
	if v == 0 && decimals > 5 {
		return "0"
	}
	if v == 0 {
		v = 0 // no minus sign
	}
	if a := math.Abs(v); a >= 1e6 || decimals > 5 {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
		if len(mantissa) > 5 {
			mantissa, _, _ = strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
		}
		e, _ := strconv.Atoi(exponent)
		return strings.ReplaceAll(mantissa, "-", "−") + "×10" + super(e)
	}
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−")
}

func super(e int) string {
	up, down := []rune(supers), []rune(plains)
	return strings.Map(func(r rune) rune {
		if r == '-' {
			r = '−'
		}
		for i := range down {
			if r == down[i] {
				return up[i]
			}
		}
		return r
	}, strconv.Itoa(e))
}

// logTicks label 1..9 under one decade, 1-2-5 under two, else powers of ten;
// what is not labelled is a minor tick. A range that holds fewer than two of
// these labels gets linear ticks, which any range has.
func logTicks(low, high float64) []Tick {
	decades := math.Log10(high / low)
	first, last := int(math.Floor(math.Log10(low)+1e-9)), int(math.Ceil(math.Log10(high)-1e-9))
	var ticks []Tick
	labels := 0
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, float64(e))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := Tick{At: v}
			switch {
			case decades < 1, decades < 2 && (m == 1 || m == 2 || m == 5):
				t.Label = decimal(v, max(0, -e))
			case m == 1:
				t.Label = "10" + super(e)
			case decades > 10:
				continue
			}
			if t.Label != "" {
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	if labels < 2 {
		return linearTicks(low, high, 4)
	}
	return ticks
}

// log2Ticks label powers of two: as numbers while they have up to five
// digits, else as 2^n.
func log2Ticks(low, high float64) []Tick {
	first, last := int(math.Ceil(math.Log2(low)-1e-9)), int(math.Floor(math.Log2(high)+1e-9))
	if last-first < 1 {
		return linearTicks(low, high, 4)
	}
	short := first >= -4 && last <= 16
	var ticks []Tick
	for e := first; e <= last; e++ {
		label := "2" + super(e)
		if short {
			label = fmt.Sprintf("%g", math.Exp2(float64(e)))
		}
		ticks = append(ticks, Tick{math.Exp2(float64(e)), label})
	}
	return ticks
}

// thin takes labels away, evenly, until those left do not touch. at gives a
// tick's position and extent the room its label needs along the axis.
func thin(ticks []Tick, at func(Tick) float64, extent func(Tick) float64) []Tick {
	var named []int
	for i, t := range ticks {
		if t.Label != "" {
			named = append(named, i)
		}
	}
	for stride := 1; ; stride++ {
		clear := true
		for j := stride; j < len(named) && clear; j += stride {
			a, b := ticks[named[j-stride]], ticks[named[j]]
			clear = math.Abs(at(b)-at(a)) >= (extent(a)+extent(b))/2
		}
		if !clear {
			continue
		}
		for j, i := range named {
			if j%stride != 0 {
				ticks[i].Label = ""
			}
		}
		return ticks
	}
}
