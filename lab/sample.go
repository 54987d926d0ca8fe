package lab

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// sampler chooses the next token: the likeliest at temperature 0, or else one drawn
// from softmax(logits / temperature), cut to the topK likeliest tokens and then to
// the fewest of them whose probabilities reach topP together (arXiv 1904.09751).
type sampler struct {
	temperature float64
	topK        int     // 0: all
	topP        float64 // 1: all
	rng         *rand.Rand
}

func newSampler(temperature float64, topK int, topP float64, seed uint64) sampler {
	return sampler{temperature, topK, topP, rand.New(rand.NewPCG(seed, 0))}
}

func (s sampler) pick(logits []float32) (int32, error) {
	ids := make([]int32, len(logits))
	for i, x := range logits {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, fmt.Errorf("the logit of token %d is %v", i, x)
		}
		ids[i] = int32(i)
	}
	likelier := func(a, b int32) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) }
	if s.temperature == 0 {
		return slices.MinFunc(ids, likelier), nil
	}
	slices.SortFunc(ids, likelier)
	if s.topK > 0 {
		ids = ids[:min(s.topK, len(ids))]
	}
	weights := make([]float64, len(ids))
	total := 0.0
	for i, id := range ids {
		weights[i] = math.Exp(float64(logits[id]-logits[ids[0]]) / s.temperature)
		total += weights[i]
	}
	sum, kept := 0.0, 0
	for kept < len(ids) && (kept == 0 || sum < s.topP*total) {
		sum += weights[kept]
		kept++
	}
	at := s.rng.Float64() * sum
	for i, w := range weights[:kept] {
		if at -= w; at < 0 {
			return ids[i], nil
		}
	}
	return ids[kept-1], nil
}
