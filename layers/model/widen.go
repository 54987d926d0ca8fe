package model

// Widening a block by a number of parameters, to compare with a model that has
// as many: its MLP if it has one, 3 D a hidden channel, or else its mixer's
// values, whose parameters a channel are counted in a graph that is never run.
// What is added is within half a channel of what was asked for.

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend" // graphs to count parameters in
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
)

// widen adds about extra parameters to block i.
func (m *Model) widen(i, extra int) error {
	if extra == 0 {
		return nil
	}
	if m.hidden[i] > 0 {
		m.hidden[i] += int(math.Round(float64(extra) / float64(3*m.Width)))
		return nil
	}
	have, err := m.parameters(m.mixers[i])
	if err != nil {
		return err
	}
	// Parameters rise with the width: double it past the aim, then halve the gap.
	lo, hi := 0, 1
	sizes := map[int]int{0: have}
	at := func(n int) (int, error) {
		if size, known := sizes[n]; known {
			return size, nil
		}
		l, err := m.wider(i, n)
		if err != nil {
			return 0, err
		}
		sizes[n], err = m.parameters(l)
		return sizes[n], err
	}
	for ; ; lo, hi = hi, 2*hi {
		if n, err := at(hi); err != nil || n >= have+extra {
			if err != nil {
				return err
			}
			break
		}
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		n, err := at(mid)
		if err != nil {
			return err
		}
		if n < have+extra {
			lo = mid
		} else {
			hi = mid
		}
	}
	if have+extra-sizes[lo] < sizes[hi]-have-extra {
		hi = lo
	}
	m.mixers[i], err = m.wider(i, hi)
	return err
}

// wider is mixer i with n more channels in each head's value.
func (m *Model) wider(i, n int) (mixer.Layer, error) {
	l := m.Layers[i]
	heads, width := m.mixers[i].Value()
	o := maps.Clone(l.Options)
	if o == nil {
		o = map[string]string{}
	}
	o["dv"] = strconv.Itoa(width + n)
	k, err := mixer.Find(l.Mixer)
	if err != nil {
		return nil, err
	}
	if k.Options.Find("dv") == nil {
		return nil, fmt.Errorf("mixer %s has no value width dv to widen: give the blocks an MLP, or hosts = delta", l.Mixer)
	}
	built, err := mixer.New(l.Mixer, m.Width, o)
	if err != nil {
		return nil, err
	}
	if h, w := built.Value(); h != heads || w != width+n {
		return nil, fmt.Errorf("mixer %s changes its heads with dv: give the blocks an MLP, or hosts = delta", l.Mixer)
	}
	return built, nil
}

var counting = sync.OnceValues(func() (compute.Backend, error) { return compute.NewWithConfig("go:parallelism=-1") })

// parameters counts a mixer's trained values.
func (m *Model) parameters(l mixer.Layer) (n int, err error) {
	be, err := counting()
	if err != nil {
		return 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("model: %v", r)
		}
	}()
	set := param.NewSet(dtypes.Float32, 0, nil)
	g := NewGraph(be, "parameters")
	mixer.Apply(l, mixer.Context{Scope: set.At(g)}, Parameter(g, "x", shapes.Make(dtypes.Float32, 1, 1, m.Width)), nil)
	return set.Count(), nil
}
