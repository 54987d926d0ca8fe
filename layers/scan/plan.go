package scan

// Plan says how a scan is evaluated. All plans give the same values up to
// rounding; zero fields are chosen from the size of the problem and the device.
type Plan struct {
	Chunks int  // chunks of the sequence that run in parallel; 1 for one loop
	Unroll int  // tokens in one turn of the loop; states are kept once a turn
	Tree   bool // the tokens of a turn by a tree of log depth, not one by one
	Kernel bool // fused kernels where the backend and the scan have them; else it changes nothing
}

// fill chooses what the plan leaves open, for B rows of T tokens that are width
// numbers each, and a state of the given number of lanes per row.
func (p Plan) fill(d Device, B, T, lanes, width int) Plan {
	if p.Unroll <= 0 {
		// Long enough that the states kept between turns take no more memory than
		// the tokens.
		least := 16
		if d == GPU {
			least = 32
		}
		p.Unroll = min(max(least, (lanes+width-1)/width), 64)
	}
	if p.Chunks <= 0 {
		p.Chunks = d.chunks(B*lanes, T)
	}
	p.Chunks = min(p.Chunks, T)
	return p
}

// chunks returns how many chunks fill the device: two levels take about three
// times the work of one loop, and pay where a step alone is too small.
func (d Device) chunks(lanes, T int) int {
	enough, work := 0, 0 // lanes that are enough for one loop; lanes to reach
	switch d {
	case PureGo: // a step costs about a microsecond an operation, however small
		enough, work = 4<<10, 16<<10
	case GPU:
		enough, work = 100e3, 1<<20
	}
	if lanes >= enough {
		return 1
	}
	// Chunks of at least 16 tokens, or there is nothing to run in them.
	return max(1, min(work/lanes, 64, T/16))
}
