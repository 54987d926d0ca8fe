package kernels

// A few heads with many tokens leave most of a device idle: so the chunks of a head
// are cut into segments. What a segment does to a state is S' = M S + N; N is the
// state at its end from none, M [K,K] what the chunks make of the identity where
// nothing is written, and of an additive state the segment's decay D. All segments
// make theirs at once, join takes the state from one to the next, and then all walk
// at once from their own states on entry. Backward likewise: R <- Mᵀ R + N', with N'
// from no gradient of the state at the segment's end.
//
//	maps N, M     [B,H,segments,K,V+K]; without erasing N alone
//	spans D       [B,H,segments], [B,H,segments,K] with a decay a channel
//	dparts N'     [B,H,segments,K,V]
//	starts, ends  states on entry, gradients of those at the end, likewise

import (
	. "github.com/kalmarz/kalmarz/layers/triton"
)

func (d Delta) segments() int { return max(d.Plan.Segments, 1) }

func (d Delta) cut() bool { return d.segments() > 1 }

// start names the array of states on entry of segments.
func (d Delta) start() string {
	if d.cut() {
		return "starts"
	}
	return "first"
}

// end names the array of gradients of the states at the segments' ends.
func (d Delta) end() string {
	if d.cut() {
		return "ends"
	}
	return "dlast"
}

func (d Delta) startDims() []int {
	if d.cut() {
		return []int{d.B, d.H, d.segments(), d.K, d.V}
	}
	return d.stateDims()
}

func (d Delta) mapsWidth() int {
	if d.Erases {
		return d.V + d.K
	}
	return d.V
}

func (d Delta) mapsDims() []int { return []int{d.B, d.H, d.segments(), d.K, d.mapsWidth()} }

// spanned tells whether segments of a state that nothing erases decay.
func (d Delta) spanned() bool { return d.cut() && d.Decays && !d.Erases }

func (d Delta) spansDims() []int {
	dims := []int{d.B, d.H, d.segments()}
	if d.Channels {
		dims = append(dims, d.K)
	}
	return dims
}

// span is a place in an array of spansDims.
func (d Delta) span(b, h, segment, channel *Tile) []any {
	if d.Channels {
		return []any{b, h, segment, channel}
	}
	return []any{b, h, segment}
}

// join takes the states of heads from segment to segment.
func (d Delta) join() *Kernel { return d.across("join", "first", "maps", "starts", "last") }

// joinBack takes their gradients from the last segment to the first.
func (d Delta) joinBack() *Kernel {
	return d.across("join_back", "dlast", "dparts", "ends", "dfirst")
}

func (d Delta) across(name, from, parts, each, to string) *Kernel {
	backward, wide := parts != "maps", min(32, d.V)
	k := New(d.name(name), d.Plan.Warps, 1, d.V/wide, d.B*d.H)
	first := k.In(from, F32, d.stateDims()...)
	var part, maps, spans *Memory
	if d.Erases || !backward {
		maps = k.In("maps", F32, d.mapsDims()...)
		part = maps
	}
	if backward {
		part = k.In(parts, F32, d.startDims()...)
	}
	if d.spanned() {
		spans = k.In("spans", F32, d.spansDims()...)
	}
	starts, last := k.Out(each, F32, d.startDims()...), k.Out(to, F32, d.stateDims()...)

	b, h := d.head(k, 1)
	channel := k.Range(d.K)
	row, column := channel.Col(), k.Program(0).Mul(wide).Add(k.Range(wide)).Row()
	S := first.Load(b, h, row, column)
	S = k.For(d.segments(), 1, []*Tile{S}, func(turn *Tile, carry []*Tile) []*Tile {
		S, segment := carry[0], turn
		if backward {
			segment = turn.Neg().Add(d.segments() - 1)
		}
		starts.Store(S, b, h, segment, row, column)
		N := part.Load(b, h, segment, row, column)
		if d.Erases {
			M := maps.Load(b, h, segment, row, channel.Row().Add(d.V))
			if backward {
				M = M.T()
			}
			return []*Tile{DotAdd(N, M, S, d.precision())}
		}
		if d.spanned() {
			S = S.Mul(spans.Load(d.span(b, h, segment, row)...))
		}
		return []*Tile{S.Add(N)}
	})[0]
	last.Store(S, b, h, row, column)
	return k
}
