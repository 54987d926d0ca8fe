// Package kalman is the Kalman filter of Kalman Linear Attention
// (arXiv 2602.10743): for every channel and state a scalar filter of its own,
//
//	x_t = a x_{t-1} + N(0, p)            latent state
//	v_t = k_t x_t + N(0, 1/Λ_t)          what is observed of it
//
// in information form, with λ = 1/variance and η = λ·mean:
//
//	c_t = a² + p λ_{t-1}                 predict  λ⁻_t = λ_{t-1}/c_t
//	λ_t = λ⁻_t + Λ_t k_t²                update
//	η_t = (a/c_t) η_{t-1} + v_t Λ_t k_t
//	y_t = Σ_s q_t η_t/λ_t                y_var_t = Σ_s q_t²/λ_t
//
// Shapes: B batch, T tokens, M channels, S states a channel; v, Λ [B,T,M],
// k, q [B,T,S], a, p [M,S], λ, η [B,M,S].
//
// λ is carried by a Möbius scan, the mean by an affine one. The second has two
// forms: η itself, and the mean μ_t = (aλ⁻_t μ_{t-1} + v_t Λ_t k_t)/λ_t, whose
// factor a λ⁻/λ never exceeds a, where that of η is up to 1/a. The mean is the
// default. Largest float32 errors over 2048 tokens, relative to float64, of y /
// the final state / the gradients:
//
//	                          mean                        η
//	a, p as initialised       9e-7 / 9e-6 / 6e-6          7e-7 / 9e-6 / 3e-5
//	a in (.5,.9), p ~ .04     1e-7 / 1e-7 / 3e-7          1e-7 / 1e-7 / 4e-7
//	a = 1, p = 0              5e-7 / 2e-6 / 4e-6          3e-7 / 5e-7 / 1e-6
//	p = 1e-12                 6e-7 / 4e-5 / 9e-4          3e-6 / 3e-5 / 3e-3
//
// Forms (see package scan), in milliseconds for float32, forward / with all
// gradients, on two shared cores of a server, best of a few runs; tokens in a
// turn 16, chunks of two levels 16:
//
//	                    pure Go                              XLA on a CPU
//	B x T, M x S        loop       tree        two levels    loop       tree       two levels
//	4 x 128,  32 x 8     8 / 32    24 / 77      9 / 17       0.2 / 1.7   4 / 12    1.5 / 2.5
//	4 x 256, 128 x 16   38 / 147  276 / 847    99 / 140      1.5 / 19   70 / 164    25 / 64
//	1 x 2048, 64 x 16  131 / 387  366 / 1218  100 / 207      1.6 / 20   70 / 220     5 / 20
//
// So: one loop on XLA; on pure Go one loop where a step has 4096 lanes B·M·S or
// more, two levels below. A tree never wins. NVIDIA devices that have fused kernels
// (package kernels) use those, which carry 1/λ and the mean; their errors are at most
// 8e-7 / 3e-5 / 4e-5 in all four rows of the first table.
package kalman
