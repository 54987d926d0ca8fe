package lab

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

// benchCase is a row that can be measured.
type benchCase struct {
	BenchRow
	open   func(be compute.Backend) (*timed, error)
	shared *benchModel // what later rows use too, or nil
	cannot error       // why there is nothing to open
}

// allCannot is the error of the first row if no row can be measured.
func allCannot(cases []benchCase) error {
	for _, c := range cases {
		if c.cannot == nil {
			return nil
		}
	}
	return cases[0].cannot
}

// timed is a compiled computation.
type timed struct {
	call     func() error // ends when the device has ended
	close    func()
	graph    *Graph
	steps    int           // in a call; 0 is 1
	flops    float64       // of the matrix products of one step
	bytes    float64       // moved at the least by one step: everything that is given and made, once
	together bool          // calls may be under way at once
	prepared time.Duration // of open, spent on inputs and parameters
}

// benchLimits bound the time of a row.
type benchLimits struct {
	repeat int
	budget float64
	ahead  int // calls under way at once, 0 = by device
}

// time takes the samples of a row: first calls that warm caches and clocks,
// then single calls, then, where calls may be under way together, runs of calls
// side by side. A row has at least one sample, however slow.
func (r *BenchRow) time(x *timed, l benchLimits, platform string) error {
	deadline := time.Duration(l.budget * float64(time.Second))
	begun := time.Now()
	for range 3 {
		if err := x.call(); err != nil {
			return err
		}
		if time.Since(begun) > deadline/4 {
			break
		}
	}
	begun = time.Now()
	single, err := sample(x.call, 1, 1, l.repeat, deadline)
	if err != nil {
		return err
	}
	ahead := l.ahead
	if ahead == 0 && platform == "xla:cuda" {
		ahead = 2
	}
	times, one := single, middle(single)
	r.Latency, r.Ahead = 1e3*one, 1
	if x.together && ahead > 1 {
		// A run is long enough that its ends, where the device waits, do not count.
		calls := ahead * min(max(4, int(0.02/one)), 64)
		if times, err = sample(x.call, ahead, calls, l.repeat, deadline-time.Since(begun)); err != nil {
			return err
		}
		r.Ahead = ahead
	}
	scale := 1e3 / float64(r.Steps)
	r.Samples, r.Least, r.Median, r.Most = len(times), scale*times[0], scale*middle(times), scale*times[len(times)-1]
	r.TokensPerS = float64(r.Tokens) / r.Median * 1e3
	return nil
}

// middle is the median of what is sorted.
func middle(x []float64) float64 { return (x[(len(x)-1)/2] + x[len(x)/2]) / 2 }

// sample returns seconds a call, sorted: each of at most repeat samples is a run
// of calls, spread over so many callers.
func sample(call func() error, callers, calls, repeat int, limit time.Duration) ([]float64, error) {
	var out []float64
	for begun := time.Now(); len(out) == 0 || len(out) < repeat && time.Since(begun) < limit; {
		start := time.Now()
		if err := callSideBySide(call, callers, calls); err != nil {
			return nil, err
		}
		out = append(out, time.Since(start).Seconds()/float64(calls))
	}
	slices.Sort(out)
	return out, nil
}

func callSideBySide(call func() error, callers, calls int) error {
	if callers == 1 {
		for range calls {
			if err := call(); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			defer func() {
				if err := recover(); err != nil {
					errs[i] = fmt.Errorf("%v", err)
				}
			}()
			for range calls / callers {
				if errs[i] = call(); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
