// Package kernels holds fused kernels for NVIDIA devices: operations that a graph
// calls by name, and that XLA compiles from Triton IR where the graph form would
// move every intermediate through memory.
//
// A Function is a list of kernels (layers/triton) over named arrays. A graph
// calls it as a function of that name; on the way to XLA's compiler Rewrite puts
// the kernels in place of the function's body. The body itself is only a carrier
// of shapes: its results are NaN, so a call that was not rewritten cannot pass
// unnoticed. Whoever builds a graph asks On first and uses the graph form where
// there are no kernels.
//
// Attempt is for a compiler that refuses them.
//
// KALMARZ_KERNELS=off turns all of them off.
//
// Every function runs in plain Go too (Function.Run), which is how it is tested.
package kernels
