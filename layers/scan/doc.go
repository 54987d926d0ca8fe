// Package scan evaluates recurrences x_t = f_t(x_{t-1}) over a sequence, where
// the maps f_t come from a family that is closed under composition:
//
//	affine     x -> a x + b
//	Möbius     x -> (a x + b) / (c x + d), entries >= 0, products divided by their trace
//	max-plus   x -> max(x + a, b)
//
// Affine scans carry diagonal state-space models (Mamba, arXiv 2312.00752),
// Möbius scans the precision of a Kalman filter (arXiv 2602.10743), max-plus
// scans a running maximum (mLSTM, arXiv 2405.04517).
//
// Affine, Moebius and MaxPlus take the maps as arrays. Run takes a Cell: the
// maps are formed from narrow tokens inside the loop, tokens [B,T,M] and [B,T,S]
// for states [B,S,M], so that nothing as large as a state per token exists.
//
// A Plan names the form:
//
//	loop        one loop over T whose body holds a few unrolled tokens
//	tree        the tokens of a turn in log depth, by odd-even reduction; with one
//	            turn the textbook associative scan
//	two levels  N chunks side by side: compose each chunk's map, carry the state
//	            over the N maps, run each chunk from its own state
//
// and Reference is the plain loop in float64. Gradients are reverse scans
// written by hand: the state is kept at the borders of turns alone and computed
// again inside the reversed loop; the gradient of the state is a linear scan of
// its own, by the same form as the forward pass.
//
// Scans of maps given as arrays, in milliseconds for float32, forward / with all
// gradients, on two shared cores of a server, F lanes; the loop unrolls 16, two
// levels are 16 chunks (64 for 4096 tokens on pure Go, then without a loop):
//
//	                      pure Go                              XLA on a CPU
//	T x F                 loop        tree       two levels    loop        tree       two levels
//	256 x 64    affine    4.5 / 12   1.1 / 2.4   0.7 / 1.3     0.3 / 0.5   0.1 / 0.2   0.2 / 0.3
//	            Möbius    7.7 / 24   3.1 / 4.9   1.6 / 2.9     0.1 / 0.3   0.5 / 0.6   0.1 / 0.2
//	256 x 2048  affine     23 / 57    18 / 40     10 / 17       12 / 20    1.7 / 4.3   3.0 / 5.2
//	            Möbius    39 / 108    43 / 72     22 / 38      3.2 / 11     34 / 50    3.5 / 6.7
//	4096 x 64   affine    65 / 161    11 / 24      6 / 11      3.6 / 9     1.6 / 2.1   3.4 / 6.6
//	            Möbius   116 / 344    25 / 42     14 / 28      0.9 / 3.1    11 / 19    1.8 / 4.1
//
// So a plan left open takes two levels on pure Go; on XLA for a CPU a tree for
// affine and max-plus maps and a loop for Möbius maps. For cells see package
// kalman.
package scan
