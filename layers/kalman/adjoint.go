package kalman

// ReferenceGradient returns the gradients of all inputs, given those of the
// results; nil parts of d count as zero. With m and n the gradients of η_t and
// λ_t, from the last token to the first:
//
//	m_t = gη_t + (a/c_{t+1}) m_{t+1}
//	n_t = gλ_t + (a²/c²_{t+1}) n_{t+1} - (ap/c²_{t+1}) η_t m_{t+1}
//
// where gη, gλ come from the readout: two scalar recurrences. Differentiating
// products of the 2x2 maps instead loses digits.
func ReferenceGradient(a *Arrays, prior bool, d *Result) (*Arrays, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	g := &Arrays{B: a.B, T: a.T, M: a.M, S: a.S}
	for _, x := range []struct {
		grad *[]float64
		size int
	}{{&g.V, len(a.V)}, {&g.Precision, len(a.V)}, {&g.K, len(a.K)}, {&g.Q, len(a.Q)}, {&g.A, len(a.A)}, {&g.P, len(a.P)},
		{&g.Lambda, a.B * a.M * a.S}, {&g.Eta, a.B * a.M * a.S}} {
		*x.grad = make([]float64, x.size)
	}
	full := a.result()
	for _, x := range []struct{ to, from []float64 }{{full.Y, d.Y}, {full.YVar, d.YVar}, {full.Lambda, d.Lambda}, {full.Eta, d.Eta}} {
		copy(x.to, x.from)
	}
	a.lanes(func(l *lane) { l.adjoint(prior, full, g) })
	return g, nil
}

func (l *lane) adjoint(prior bool, d *Result, g *Arrays) {
	l.filter()
	a, p := *l.static(l.a.A), *l.static(l.a.P)
	da, dp := l.static(g.A), l.static(g.P)
	m, n := *l.state(d.Eta), *l.state(d.Lambda)
	for t := l.a.T - 1; t >= 0; t-- {
		lambda, eta := l.lambda[t+1], l.eta[t+1]
		q, gy, gvar := *l.index(l.a.Q, t), *l.channel(d.Y, t), *l.channel(d.YVar, t)
		mean, variance := eta/lambda, 1/lambda
		gmean, gv := q*gy, q*q*gvar
		if prior {
			*l.index(g.Q, t) += a*mean*gy + 2*q*(a*a*variance+p)*gvar
			*da += gmean*mean + gv*2*a*variance
			*dp += gv
			gmean, gv = a*gmean, a*a*gv
		} else {
			*l.index(g.Q, t) += mean*gy + 2*q*variance*gvar
		}
		m += gmean / lambda
		n -= (gmean*mean + gv/lambda) / lambda

		v, precision, k := *l.channel(l.a.V, t), *l.channel(l.a.Precision, t), *l.index(l.a.K, t)
		*l.channel(g.V, t) += m * precision * k
		*l.channel(g.Precision, t) += n*k*k + m*v*k
		*l.index(g.K, t) += 2*n*precision*k + m*v*precision

		lambda, eta = l.lambda[t], l.eta[t]
		c := max(a*a, floor) + p*lambda
		*da += (m*eta*(p*lambda-a*a) - 2*a*n*lambda) / (c * c)
		*dp -= lambda * (a*m*eta + n*lambda) / (c * c)
		m, n = a/c*m, (a*a*n-a*p*m*eta)/(c*c)
	}
	*l.state(g.Eta), *l.state(g.Lambda) = m, n
}
