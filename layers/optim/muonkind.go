package optim

import (
	"github.com/kalmarz/kalmarz/layers/option"
	"github.com/kalmarz/kalmarz/layers/param"
)

var muonOptions = option.Set{
	{Name: "momentum", Kind: option.Float, Default: 0.95, Range: [2]float64{0, 0.9999}, Help: "momentum of the matrices' gradients, μ"},
	{Name: "nesterov", Kind: option.Bool, Default: true, Help: "look ahead by one step of momentum"},
	{Name: "scaling", Kind: option.Word, Default: string(Moonlight), Choices: []string{string(Moonlight), string(Jordan), string(Spectral)},
		Help: "factor on the update of a matrix with m outputs and n inputs: 0.2 √max(m,n), √max(1,m/n) or √max(m,n)", Source: "2502.16982"},
	{Name: "coefficients", Kind: option.Word, Default: "simple", Choices: []string{"simple", "quintic"},
		Help: "of the iteration: the same each time (singular values end in 0.7 to 1.2), or quintic (0.98 to 1.14 after five)"},
	{Name: "ns_steps", Kind: option.Int, Default: 5, Range: [2]float64{1, 20}, Help: "iterations"},
	{Name: "ns_bf16", Kind: option.Bool, Default: false, Help: "round the iteration's matrices to bfloat16, which is faster where devices multiply it"},
	{Name: "smallest", Kind: option.Int, Default: 16, Range: [2]float64{1, 1 << 20}, Help: "matrices with fewer outputs, as gates of a few heads, are AdamW's"},
	{Name: "rest_lr", Kind: option.Float, Default: 1.0, Range: [2]float64{0, 1e6}, Help: "AdamW's learning rate / lr"},
	{Name: "rest_wd", Kind: option.Float, Default: 1.0, Range: [2]float64{0, 1e6}, Help: "AdamW's weight decay / wd"},
	{Name: "rest_schedule", Kind: option.Word, Default: "same", Choices: []string{"same", "constant"}, Help: "AdamW's learning rate after the warm-up"},
}

var muonKind = &Kind{
	Name: "muon", Doc: "orthogonalised momentum for hidden matrices; AdamW for embeddings, head, vectors, convolutions and small gates",
	Options: muonOptions,
	New:     func(o option.Values, s Settings) Optimiser { return newMuon(o, s) },
	Takes:   takesMatrix,
}

var norMuonKind = &Kind{
	Name: "normuon", Doc: "muon whose updates have a root mean square of about 1 in each row; lr is some 5 times lower than muon's",
	Options: append(muonOptions[:len(muonOptions):len(muonOptions)], option.Set{
		{Name: "row_beta", Kind: option.Float, Default: 0.95, Range: [2]float64{0, 0.9999}, Help: "β of a row's running mean square", Source: "2510.05491"},
		{Name: "rows", Kind: option.Word, Default: "longer", Choices: []string{"longer", "outputs"},
			Help: "what is a row: an output, or of matrices with more inputs than outputs an input; or always an output"},
		{Name: "restore", Kind: option.Bool, Default: false, Help: "give the update the norm that it had before"},
	}...),
	New: func(o option.Values, s Settings) Optimiser {
		u := newMuon(o, s)
		u.NorMuon = &NorMuon{Beta: o.Float("row_beta"), Outputs: o.Word("rows") == "outputs", Restore: o.Bool("restore")}
		return u
	},
	Takes: takesMatrix,
}

func newMuon(o option.Values, s Settings) *Muon {
	u := &Muon{
		LearningRate: s.Rate, Momentum: o.Float("momentum"), Nesterov: o.Bool("nesterov"), WeightDecay: s.WeightDecay,
		Scaling: Scaling(o.Word("scaling")), Coefficients: Simple, Iterations: o.Int("ns_steps"), BFloat16: o.Bool("ns_bf16"),
		Applies: paths(s.Entries, func(e *param.Entry) bool { return takesMatrix(o, e) }),
	}
	if o.Word("coefficients") == "quintic" {
		u.Coefficients = Quintic
	}
	s.WeightDecay *= o.Float("rest_wd")
	u.Rest = s.adamW()
	return u
}

// takesMatrix picks hidden matrices [inputs, outputs].
func takesMatrix(o option.Values, e *param.Entry) bool {
	return e.Role == param.Matrix && len(e.Dims) == 2 && e.Dims[1] >= o.Int("smallest")
}

// RestRate returns the learning rate of what a kind leaves to AdamW, given the
// kind's own and the peak, which it has after the warm-up where that is asked
// for.
func (k *Kind) RestRate(o option.Values, rate, peak float64, warm bool) float64 {
	if k.Options.Find("rest_lr") == nil {
		return rate
	}
	if warm && o.Word("rest_schedule") == "constant" {
		rate = peak
	}
	return rate * o.Float("rest_lr")
}
