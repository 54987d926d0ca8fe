package mixer

// Rotary position embedding, arXiv 2104.09864, in the layout that pairs
// channel i with i + K/2: at token t the pair turns by t θ^(-2i/K).

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

func rotaryOptions(on bool, theta float64) option.Set {
	return option.Set{
		{Name: "rope", Kind: option.Bool, Default: on, Help: "rotary positions on queries and keys"},
		{Name: "theta", Kind: option.Float, Default: theta, Range: [2]float64{1, 1e9}, Help: "base of the rotary frequencies"},
	}
}

func evenWidth(dk int) error {
	if dk%2 != 0 {
		return fmt.Errorf("dk = %d: rotary positions need an even key width", dk)
	}
	return nil
}

// positions returns the place of each of T tokens from the sequence's start
// [B,T], counting on in slot "t".
func (c *Context) positions(T int) *Node {
	before := c.Carried("t")
	c.Keep("t", AddScalar(before, float64(T)))
	return Add(InsertAxes(before, -1), Iota(c.Graph, shapeLike(before, c.batch, T), 1))
}

// Rotate turns x [B,T,H,K] by its positions t [B,T].
func Rotate(x, t *Node, theta float64) *Node {
	half := x.Shape().Dim(3) / 2
	freq := make([]float64, half)
	for i := range freq {
		freq[i] = math.Pow(theta, -float64(i)/float64(half))
	}
	angle := Mul(InsertAxes(t, -1, -1), Reshape(ConstAs(t, freq), 1, 1, 1, half))
	cos, sin := ConvertDType(Cos(angle), x.DType()), ConvertDType(Sin(angle), x.DType())
	parts := grad.Cut(x, 3, half, half)
	return Concatenate([]*Node{
		Sub(Mul(parts[0], cos), Mul(parts[1], sin)),
		Add(Mul(parts[1], cos), Mul(parts[0], sin)),
	}, 3)
}
