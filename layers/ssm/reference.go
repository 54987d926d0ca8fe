package ssm

import (
	"fmt"
	"math"
)

// Reference recurrences in plain float64, token by token; arrays are row-major
// with the shapes of the inputs of the same name.

// Arrays is a problem of Mamba (with A) or Longhorn (without).
type Arrays struct {
	B, T, M, S int
	X, Step    []float64 // [B,T,M]
	In, Out    []float64 // [B,T,S]: B and C of Mamba, k and q of Longhorn
	A          []float64 // [M,S], or nil
	State      []float64 // [B,M,S]
}

func lengths(who string, arrays map[string][]float64, want map[string]int) error {
	for name, n := range want {
		x := arrays[name]
		if len(x) != n {
			return fmt.Errorf("%s: %s has %d values, expected %d", who, name, len(x), n)
		}
		for i, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s: %s = %g at index %d: must be finite", who, name, v, i)
			}
		}
	}
	return nil
}

// Reference returns y [B,T,M] and the last state [B,M,S].
func Reference(a *Arrays) (y, state []float64, err error) {
	n := a.B * a.T
	want := map[string]int{"x": n * a.M, "step": n * a.M, "in": n * a.S, "out": n * a.S, "state": a.B * a.M * a.S}
	if a.A != nil {
		want["a"] = a.M * a.S
	}
	if err := lengths("ssm", map[string][]float64{"x": a.X, "step": a.Step, "in": a.In, "out": a.Out, "a": a.A, "state": a.State}, want); err != nil {
		return nil, nil, err
	}
	y, state = make([]float64, n*a.M), append([]float64{}, a.State...)
	for i := range n {
		in, out := a.In[i*a.S:][:a.S], a.Out[i*a.S:][:a.S]
		norm := 0.0
		for _, k := range in {
			norm += k * k
		}
		for m := range a.M {
			x, step := a.X[i*a.M+m], a.Step[i*a.M+m]
			if a.A == nil {
				step /= 1 + step*norm
			}
			for s := range a.S {
				h := &state[(i/a.T*a.M+m)*a.S+s]
				decay := 1 - step*in[s]*in[s]
				if a.A != nil {
					decay = math.Exp(step * a.A[m*a.S+s])
				}
				*h = decay**h + step*in[s]*x
				y[i*a.M+m] += out[s] * *h
			}
		}
	}
	return y, state, nil
}

// MLSTMArrays is a problem of the mLSTM.
type MLSTMArrays struct {
	B, T, H, K, V int
	Q, Key        []float64 // [B,T,H,K]
	Value         []float64 // [B,T,H,V]
	Input, Forget []float64 // [B,T,H]
	Memory        []float64 // [B,H,K,V]
	Norm, Max     []float64 // [B,H,K], [B,H]
}

// MLSTMReference returns h [B,T,H,V] and the last state.
func MLSTMReference(a *MLSTMArrays) (h, memory, norm, top []float64, err error) {
	n, b := a.B*a.T*a.H, a.B*a.H
	if err := lengths("mlstm", map[string][]float64{"q": a.Q, "k": a.Key, "v": a.Value, "input": a.Input, "forget": a.Forget,
		"state memory": a.Memory, "state norm": a.Norm, "state max": a.Max},
		map[string]int{"q": n * a.K, "k": n * a.K, "v": n * a.V, "input": n, "forget": n,
			"state memory": b * a.K * a.V, "state norm": b * a.K, "state max": b}); err != nil {
		return nil, nil, nil, nil, err
	}
	h = make([]float64, n*a.V)
	memory, norm, top = append([]float64{}, a.Memory...), append([]float64{}, a.Norm...), append([]float64{}, a.Max...)
	for i := range n {
		row := i/(a.T*a.H)*a.H + i%a.H
		q, k, v := a.Q[i*a.K:][:a.K], a.Key[i*a.K:][:a.K], a.Value[i*a.V:][:a.V]
		C, N, m := memory[row*a.K*a.V:], norm[row*a.K:], &top[row]
		logForget := -math.Log1p(math.Exp(-a.Forget[i]))
		before := *m
		*m = max(logForget+before, a.Input[i])
		forget, input := math.Exp(logForget+before-*m), math.Exp(a.Input[i]-*m)
		read := 0.0
		for j := range a.K {
			N[j] = forget*N[j] + input*k[j]
			read += N[j] * q[j]
			for l := range a.V {
				C[j*a.V+l] = forget*C[j*a.V+l] + input*k[j]*v[l]
				h[i*a.V+l] += C[j*a.V+l] * q[j]
			}
		}
		for l := range a.V {
			h[i*a.V+l] /= max(math.Abs(read), math.Exp(-*m)) + 1e-6
		}
	}
	return h, memory, norm, top, nil
}
