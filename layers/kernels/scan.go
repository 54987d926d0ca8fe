package kernels

// Scans of narrow tokens over a wide state (layers/scan): tokens [B,T,M] and
// [B,T,S], a state of one or two numbers for each of M channels and S states.
//
// A program takes some channels of one batch row with all their states, [S,C]
// tiles, and walks over tokens; what the next ones need is read ahead. Where that
// makes too few programs the tokens are cut into N chunks that run side by side:
// what each chunk does to a state is composed, for all chunks at once; the state is
// carried over the chunks; each chunk runs from its own state.
//
// For the gradient the state before each turn of some tokens is kept, in which a
// program makes the states again and takes the tokens from the last. The gradient
// of the state before a chunk is linear in that of the state after it: factors and
// offsets are made for all chunks at once, from the first token on, as derivatives
// of the state and of the outputs by the state before the chunk. Sums over M, and
// those of statics over batch rows and chunks, are left in parts, one a program.

import (
	"fmt"

	. "github.com/kalmarz/kalmarz/layers/triton"
)

// Scan is the shape of a scan; its methods are the kernels.
type Scan struct {
	B, T, M, S int
	DType      DType // of tokens and outputs
	Masked     bool  // tokens may be padding, which leaves the state as it is
	Plan       ScanPlan
	cell       cell
}

// ScanPlan says how the work is cut, which changes nothing but speed.
type ScanPlan struct {
	Channels  int // of a program
	Ahead     int // tokens that are read ahead
	Turn      int // tokens between two states that are kept; a multiple of Ahead
	Chunks    int // of the sequence that run side by side
	Registers int // bound of a thread of the reverse pass, 0 for none
}

// cell is a recurrence. Tiles of its state, of what it does to one and of gradients
// are [S,C].
type cell interface {
	arrays() arrays
	// fix makes what all tokens need from the statics.
	fix(w *program, statics []*Tile)
	// enter makes the state of the arrays before the sequence, leave the arrays
	// after it of the state; the other two are their gradients.
	enter(first []*Tile) (s []*Tile)
	leave(s []*Tile) (last []*Tile)
	enterGradient(s, d []*Tile) (dfirst []*Tile)
	leaveGradient(last, dlast []*Tile) (d []*Tile)
	// next is the state after a token; read returns the outputs before they are
	// summed over states.
	next(w *program, s []*Tile, x token) []*Tile
	read(w *program, next []*Tile, x token) []*Tile
	// nothing is what no tokens do to a state, extend adds a token, and apply
	// returns the state that comes of s.
	nothing(w *program) []*Tile
	extend(w *program, f []*Tile, x token) []*Tile
	apply(f, s []*Tile) []*Tile
	// flat are the derivatives of a state by itself, slope those after a token with
	// the state too, and applyBack takes a gradient to that before.
	flat(w *program) []*Tile
	slope(w *program, s, f []*Tile, x token) (next, slopes []*Tile)
	applyBack(f, d []*Tile) []*Tile
	// pull takes the gradient of the state and sums for the statics over a token,
	// given the state before it; learnt makes the statics' gradients of the sums.
	pull(w *program, x token, s, d, sums []*Tile) (dnext, next []*Tile, of share)
	learnt(w *program, sums []*Tile) []*Tile
}

// arrays are the names of a cell's arrays.
type arrays struct {
	name            string
	channels        []string // of tokens, [B,T,M]
	states, queries []string // of tokens, [B,T,S]: those that move the state, those that outputs need
	statics         []string // [M,S]
	first           []string // the state before the sequence, [B,M,S]
	outputs         []string // [B,T,M]
	state           []string // the state in between, [B,N,M,S]
	effect, slopes  []string // what a chunk does to it, and its derivatives
	sums            int      // for the statics' gradients
}

// share is a program's share of a token's gradients, [S,C] for each array over
// channels, to be summed over states, and for each over states.
type share struct{ channels, states []*Tile }

// turns is how many turns a chunk has.
func (f Scan) turns() int {
	return (f.T + f.Plan.Chunks*f.Plan.Turn - 1) / (f.Plan.Chunks * f.Plan.Turn)
}

// length is how many tokens a chunk has; those of the last may not all exist.
func (f Scan) length() int { return f.turns() * f.Plan.Turn }

func (f Scan) ragged() bool { return f.T != f.Plan.Chunks*f.length() }

// blocks is how many programs share a batch row's channels.
func (f Scan) blocks() int { return (f.M + f.Plan.Channels - 1) / f.Plan.Channels }

// name identifies a kernel of this shape.
func (f Scan) name(what string) string {
	p, mask := f.Plan, ""
	if f.Masked {
		mask = "_mask"
	}
	return fmt.Sprintf("kalmarz_%s_%s_B%d_T%d_M%d_S%d_%s_plan%d_%d_%d_%d_%d%s", f.cell.arrays().name, what, f.B, f.T, f.M, f.S, f.DType, p.Channels, p.Ahead, p.Turn, p.Chunks, p.Registers, mask)
}

func (f Scan) stateDims() []int { return []int{f.B, f.M, f.S} }

func (f Scan) chunkDims() []int { return []int{f.B, f.Plan.Chunks, f.M, f.S} }

func (f Scan) keptDims() []int { return []int{f.B, f.Plan.Chunks * f.turns(), f.M, f.S} }

func (f Scan) channelDims() []int { return []int{f.B, f.T, f.M} }
