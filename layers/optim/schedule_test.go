package optim

import (
	"math"
	"testing"
)

// TestSchedules gives rates at some of 100 steps, 10 of them warm-up, from a
// peak of 1 to a floor of 0.1.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		schedule *Schedule
		given    map[string]string
		want     map[int]float64
	}{
		{cosine, nil, map[int]float64{1: 0.1, 10: 1, 55: 0.55, 100: 0.1}},
		{constant, nil, map[int]float64{1: 0.1, 10: 1, 55: 1, 100: 1}},
		{wsd, nil, map[int]float64{1: 0.1, 11: 1, 80: 1, 85: 0.55, 100: 0.1}}, // 1 - √(5/20) = 1/2
		{wsd, map[string]string{"decay_shape": "linear", "decay_fraction": "0.5"}, map[int]float64{50: 1, 60: 0.82, 75: 0.55, 100: 0.1}},
		{wsd, map[string]string{"decay_shape": "cosine"}, map[int]float64{80: 1, 90: 0.55, 100: 0.1}},
		{wsd, map[string]string{"decay_shape": "exponential"}, map[int]float64{80: 1, 90: 0.1 + 0.9*(math.Sqrt2-1), 100: 0.1}},
		{wsd, map[string]string{"decay_fraction": "0"}, map[int]float64{11: 1, 100: 1}},
		{wsd, map[string]string{"decay_fraction": "1", "decay_shape": "linear"}, map[int]float64{10: 1, 55: 0.55, 100: 0.1}}, // from the warm-up's end
	} {
		o, err := c.schedule.Options.Parse("schedule "+c.schedule.Name, c.given)
		if err != nil {
			t.Fatal(err)
		}
		for step, want := range c.want {
			if got := c.schedule.Rate(o, 1, 0.1, 10, 100, step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s %v, step %d: %g, want %g", c.schedule.Name, c.given, step, got, want)
			}
		}
	}
}

// TestEverySchedule: each never rises after the warm-up, scales with its peak
// and stays between floor and peak, also where the warm-up is all there is or
// nothing.
func TestEverySchedule(t *testing.T) {
	for _, s := range Schedules {
		for _, warmup := range []int{0, 3, 20, 30} {
			last := math.Inf(1)
			for step := 1; step <= 20; step++ {
				rate := s.Rate(s.Options.Defaults(), 1, 0.2, warmup, 20, step)
				double := s.Rate(s.Options.Defaults(), 2, 0.2, warmup, 20, step)
				switch {
				case step <= warmup:
					if want := float64(step) / float64(warmup); rate != want {
						t.Errorf("%s, warm-up %d, step %d: %g, want %g", s.Name, warmup, step, rate, want)
					}
				case rate > last || rate < 0.2 || rate > 1 || math.Abs(double-2*rate) > 1e-15:
					t.Errorf("%s, warm-up %d, step %d: %g after %g, %g at twice the peak", s.Name, warmup, step, rate, last, double)
				default:
					last = rate
				}
			}
		}
	}
}
