package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// planned is one run of an ablation: a cell with a seed.
type planned struct {
	index, cell, k int // among all runs; its place in Ablation.Runs
	e              *Experiment
	seed           uint64
	name, dir      string
}

// plan lists an ablation's runs by cell, then seed.
func (a *Ablation) plan() []planned {
	var out []planned
	for i, e := range a.Cells {
		for k := range a.Base.Int("seeds") {
			seed := e.Int("seed") + k
			out = append(out, planned{len(out), i, k, e, uint64(seed), fmt.Sprintf("%s, seed %d", a.label(i), seed), a.cellDir(i, seed)})
		}
	}
	return out
}

// watcher is told what becomes of the runs of a plan; nil functions are not.
type watcher struct {
	begin func(planned)
	step  func(p planned, step int, m measured, tokensPerS float64)
	end   func(p planned, r *Record, err error) // r is nil if it never began
	kept  func(p planned, r *Record)            // it was there already
	busy  func(planned)                         // another process has it
	taken func(planned)                         // another process of this sweep has had it
}

// turns is how one process takes its runs among others that share the folder.
type turns struct {
	sweep string // names the sweep: none of its processes takes a run twice
	first int    // where to begin: processes with different numbers begin with different graphs
	wait  bool   // for runs that others have; to take them where they are left
}

// takeAll runs what is missing of a plan and nobody else has, a run whose graph
// is compiled first. It ends when nothing is left to it.
func (a *Ablation) takeAll(ctx context.Context, s *Session, t turns, w watcher) error {
	for left, told := byGraph(a.plan(), t.first), false; len(left) > 0; {
		rest, err := a.takeRound(ctx, s, t, w, left)
		if err != nil || len(rest) == 0 || !t.wait {
			return err
		}
		if len(rest) == len(left) { // all are with others
			if !told {
				s.note(fmt.Sprintf("waiting for %d runs that other processes have", len(rest)))
			}
			told = true
			sleep(ctx, 200*time.Millisecond)
			if ctx.Err() != nil {
				return errors.New("stopped while other processes had the last runs")
			}
		}
		left = rest
	}
	return nil
}

// takeRound goes over a plan once and returns the runs that others had.
func (a *Ablation) takeRound(ctx context.Context, s *Session, t turns, w watcher, left []planned) (busy []planned, err error) {
	left = slices.Clone(left)
	for len(left) > 0 {
		next := max(0, slices.IndexFunc(left, func(p planned) bool { return s.trainers[p.e.graphKey()] != nil }))
		p := left[next]
		left = slices.Delete(left, next, next+1)
		r, ran, err := a.take(ctx, s, p, t.sweep, w)
		switch {
		case errors.Is(err, errInUse):
			busy = append(busy, p)
			if w.busy != nil {
				w.busy(p)
			}
			continue
		case errors.Is(err, errTaken):
			if w.taken != nil {
				w.taken(p)
			}
			continue
		}
		a.Runs[p.cell][p.k] = r
		if ran || err != nil { // a failed run is a result too; the rest go on
			w.end(p, r, err)
		} else {
			a.Kept++
			w.kept(p, r)
		}
		if ctx.Err() != nil {
			return busy, err
		}
	}
	return busy, nil
}

// byGraph puts runs of one graph together, beginning with the first-th graph.
func byGraph(plan []planned, first int) []planned {
	var keys []string
	for _, p := range plan {
		if key := p.e.graphKey(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	place := func(p planned) int {
		n := len(keys)
		return ((slices.Index(keys, p.e.graphKey())-first)%n + n) % n
	}
	slices.SortStableFunc(plan, func(a, b planned) int { return place(a) - place(b) })
	return plan
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
