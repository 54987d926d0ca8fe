package kernels

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

// token is what one token brings: arrays over channels and gradients of outputs
// [1,C], arrays over states [S,1].
type token struct {
	channels, states, dy []*Tile
	here                 *Tile // whether it is there; nil: yes
}

// tokens are the arrays that are read token by token.
type tokens struct {
	channels, states, dy []*Memory
	mask                 *Memory
}

// moving declares what moves the state.
func (w *program) moving() (t tokens) {
	for _, name := range w.channels {
		t.channels = append(t.channels, w.In(name, w.DType, w.channelDims()...))
	}
	for _, name := range w.states {
		t.states = append(t.states, w.In(name, w.DType, w.B, w.T, w.S))
	}
	if w.Masked {
		t.mask = w.In("mask", F32, w.B, w.T)
	}
	return t
}

// reading declares beside these what outputs need.
func (w *program) reading(t tokens) tokens {
	for _, name := range w.queries {
		t.states = append(t.states[:len(t.states):len(t.states)], w.In(name, w.DType, w.B, w.T, w.S))
	}
	return t
}

// graded declares beside these the gradients of outputs.
func (w *program) graded(t tokens) tokens {
	for _, name := range w.outputs {
		t.dy = append(t.dy, w.In("d"+name, w.DType, w.channelDims()...))
	}
	return t
}

// exists tells whether token t is in the sequence; nil: it is.
func (w *program) exists(t *Tile) *Tile {
	if w.ragged() {
		return t.Less(w.T)
	}
	return nil
}

// fetch loads token t, as it is carried through loops.
func (w *program) fetch(x tokens, t *Tile) (raw []*Tile) {
	exists := w.exists(t)
	for _, ms := range [][]*Memory{x.channels, x.dy} {
		for _, m := range ms {
			raw = append(raw, m.LoadIf(both(exists, w.someChannels), w.b, t, w.m))
		}
	}
	for _, m := range x.states {
		raw = append(raw, m.LoadIf(both(exists, w.someStates), w.b, t, w.s))
	}
	if x.mask != nil {
		raw = append(raw, x.mask.LoadIf(exists, w.b, t))
	}
	return raw
}

// token makes of what fetch returned for token t what the equations take.
func (w *program) token(x tokens, t *Tile, raw []*Tile) (y token) {
	next := func() *Tile {
		r := raw[0].To(F32)
		raw = raw[1:]
		return r
	}
	for range x.channels {
		y.channels = append(y.channels, next().Row())
	}
	for range x.dy {
		y.dy = append(y.dy, next().Row())
	}
	for range x.states {
		y.states = append(y.states, next().Col())
	}
	y.here = w.exists(t)
	if x.mask != nil {
		y.here = next().NotZero() // 0 past the end
	}
	return y
}

// walk runs over the chunk's tokens in turns, with the next ones read ahead. Before
// each turn it calls begin, which may be nil.
func (w *program) walk(x tokens, carry []*Tile, begin func(turn *Tile, carry []*Tile), step func(t *Tile, x token, carry []*Tile) []*Tile) []*Tile {
	ahead, n := w.Plan.Ahead, len(carry)
	block := func(t *Tile) (raw []*Tile) {
		if !w.ragged() {
			t = t.Min(w.T - ahead) // what is read after the last token is not used
		}
		for i := range ahead {
			raw = append(raw, w.fetch(x, t.Add(i))...)
		}
		return raw
	}
	from := w.n.Mul(w.length())
	out := w.For(w.turns(), 1, append(carry[:n:n], block(from)...), func(turn *Tile, all []*Tile) []*Tile {
		carry, raw := all[:n], all[n:]
		if begin != nil {
			begin(w.n.Mul(w.turns()).Add(turn), carry)
		}
		first := from.Add(turn.Mul(w.Plan.Turn))
		for at := 0; at < w.Plan.Turn; at += ahead {
			next := block(first.Add(at + ahead))
			for i := range ahead {
				t, each := first.Add(at+i), len(raw)/ahead
				x := w.token(x, t, raw[i*each:][:each])
				carry = here(x, step(t, x, carry), carry)
			}
			raw = next
		}
		return append(carry[:n:n], raw...)
	})
	return out[:n]
}

// here chooses between what a token makes of tiles and what they were before it.
func here(x token, after, before []*Tile) []*Tile {
	if x.here == nil {
		return after
	}
	out := make([]*Tile, len(after))
	for i := range out {
		out[i] = x.here.Where(after[i], before[i])
	}
	return out
}

// counted is a token's sum, 0 if it is not there.
func counted(x token, sum *Tile) *Tile {
	if x.here == nil {
		return sum
	}
	return x.here.Where(sum, 0.0)
}
