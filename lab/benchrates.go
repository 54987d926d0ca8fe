package lab

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

// deviceRates are what the device reaches where nothing else is asked of it,
// measured in the same process: the shares of rows are of these.
type deviceRates struct {
	Copy    float64            `json:"copy_bytes_per_second"` // of one negation of a large float32 array, read and written
	Array   float64            `json:"copy_array_bytes"`
	Product map[string]float64 `json:"product_flops_per_second"` // by dtype, of one product of square matrices
	Side    int                `json:"product_side"`
}

// rateSizes are an array that no cache holds and a product that fills the device.
func rateSizes(platform string) *deviceRates {
	if platform == "xla:cuda" {
		return &deviceRates{Array: 2 << 30, Side: 8192}
	}
	return &deviceRates{Array: 64 << 20, Side: 1024}
}

// measure measures the copy and a product in each dtype.
func (r *deviceRates) measure(be compute.Backend, platform string, names []string, l benchLimits) error {
	l.budget = min(l.budget, 0.5)
	r.Product = map[string]float64{}
	copying, err := rate(be, operator{
		inputs: func(g *Graph) []*Node { return []*Node{wave(g, 0.31, int(r.Array)/4)} },
		apply:  func(x []*Node) []*Node { return []*Node{Neg(x[0])} },
	}, platform, l)
	if err != nil {
		return fmt.Errorf("copy rate: %w", err)
	}
	r.Copy = 2 * r.Array / copying
	for _, name := range names {
		dtype := benchDType(option.Values{"dtype": name})
		product, err := rate(be, operator{
			inputs: func(g *Graph) []*Node {
				return grad.Each([]*Node{wave(g, 0.31, 1, r.Side, r.Side), wave(g, 0.77, 1, r.Side, r.Side)}, func(x *Node) *Node { return ConvertDType(x, dtype) })
			},
			apply: func(x []*Node) []*Node { return []*Node{grad.NN.Wide(x[0], x[1])} },
		}, platform, l)
		if err != nil {
			return fmt.Errorf("product rate of %s: %w", name, err)
		}
		r.Product[name] = 2 * float64(r.Side) * float64(r.Side) * float64(r.Side) / product
	}
	return nil
}

// rate returns the seconds that an operator takes.
func rate(be compute.Backend, op operator, platform string, l benchLimits) (float64, error) {
	x, err := op.open(be, false)
	if err != nil {
		return 0, err
	}
	defer x.close()
	row := BenchRow{Steps: 1}
	err = row.time(x, l, platform)
	return row.Median / 1e3, err
}

// compare adds to a row what it reaches of the device's rates.
func (r *BenchRow) compare(rates *deviceRates) {
	if rates == nil {
		return
	}
	seconds := r.Median / 1e3
	r.CopyShare = r.Bytes / seconds / rates.Copy
	if p := rates.Product[r.DType]; p > 0 {
		r.ProductShare = r.GFLOP * 1e9 / seconds / p
	}
}
