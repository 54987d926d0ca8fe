package optim

import (
	"fmt"
	"math"
	"strings"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Schedule is how the learning rate follows the steps after a linear warm-up.
type Schedule struct {
	Name, Doc string
	Options   option.Set
	// factor falls from 1 to 0, at step (counted from 1, after the warm-up) of
	// steps; the learning rate is floor + factor (1 - floor) of its peak.
	factor func(o option.Values, warmup, steps, step int) float64
}

// Schedules lists the schedules; a new one joins with its line here.
var Schedules = []*Schedule{cosine, wsd, constant}

var cosine = &Schedule{
	Name: "cosine", Doc: "half a cosine down to the floor at the end",
	factor: func(_ option.Values, warmup, steps, step int) float64 {
		return (1 + math.Cos(math.Pi*float64(step-warmup)/float64(steps-warmup))) / 2
	},
}

// Warm-up, stable, decay (arXiv 2404.06395); 1 - √x as in arXiv 2405.18392.
var wsd = &Schedule{
	Name: "wsd", Doc: "warm-up, stable, decay: the peak until the last part of the steps, then down to the floor",
	Options: option.Set{
		{Name: "decay_fraction", Kind: option.Float, Default: 0.2, Range: [2]float64{0, 1}, Help: "part of all steps in which the rate falls"},
		{Name: "decay_shape", Kind: option.Word, Default: "sqrt", Choices: []string{"sqrt", "linear", "cosine", "exponential"},
			Help: "how it falls with the part x of these steps: 1 - √x, 1 - x, half a cosine, or 2^(1-x) - 1"},
	},
	factor: func(o option.Values, warmup, steps, step int) float64 {
		length := o.Float("decay_fraction") * float64(steps)
		begin := max(float64(steps)-length, float64(warmup))
		x := (float64(step) - begin) / (float64(steps) - begin)
		switch {
		case !(x > 0): // also if nothing is left to decay in
			return 1
		case o.Word("decay_shape") == "linear":
			return 1 - x
		case o.Word("decay_shape") == "cosine":
			return (1 + math.Cos(math.Pi*x)) / 2
		case o.Word("decay_shape") == "exponential":
			return math.Exp2(1-x) - 1
		}
		return 1 - math.Sqrt(x)
	},
}

var constant = &Schedule{
	Name: "constant", Doc: "the peak until the end",
	factor: func(option.Values, int, int, int) float64 { return 1 },
}

// Rate returns the learning rate of step (counted from 1) of steps: linear to
// peak over warmup steps, and then as the schedule has it, not below floor·peak.
func (s *Schedule) Rate(o option.Values, peak, floor float64, warmup, steps, step int) float64 {
	if step <= warmup {
		return peak * float64(step) / float64(warmup)
	}
	f := s.factor(o, warmup, steps, step)
	if f == 1 {
		return peak
	}
	return peak * (floor + (1-floor)*f)
}

// FindSchedule returns the schedule of that name, or an error that lists the
// known ones.
func FindSchedule(name string) (*Schedule, error) {
	for _, s := range Schedules {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown schedule %q: known are %s", name, strings.Join(ScheduleNames(), ", "))
}

// ScheduleNames lists the schedules' names.
func ScheduleNames() (names []string) {
	for _, s := range Schedules {
		names = append(names, s.Name)
	}
	return names
}
