package kernels

import "github.com/kalmarz/kalmarz/layers/triton"

// Entry describes an operation that has kernels.
type Entry struct {
	Name      string
	Replaces  string // the graph form
	Range     string // what the kernels can do
	Pays      string // where they are chosen by themselves; "": nowhere until a device has checked them
	Tolerance map[triton.DType]Tolerance
}

// Tolerance is how far results may be from float64, relative to the largest
// value of each array, when the inputs are rounded alike.
type Tolerance struct{ Value, Gradient float64 }

// Registry lists the operations.
var Registry = []Entry{
	{
		Name:     "delta",
		Replaces: "the chunked form of the delta rule and of additive states, with a decay a head or none",
		Range:    "key and value widths 16, 32, 64, 128 and, for bfloat16, 256; bfloat16 and float32",
		Pays:     "bfloat16, widths 64, 128 and 256, from 256 tokens on",
		Tolerance: map[triton.DType]Tolerance{
			triton.BF16: {Value: 1e-2, Gradient: 2e-2},
			triton.F32:  {Value: 2e-5, Gradient: 2e-4},
		},
	},
	{
		Name:     "delta, a decay a channel",
		Replaces: "the chunked form of the delta rule and of additive states, with a decay a key channel",
		Range:    "key and value widths 16, 32, 64, 128 and, for bfloat16, 256; bfloat16, and float32 where something is erased",
		Pays:     "bfloat16, widths 64 and 128, from 256 tokens on",
		Tolerance: map[triton.DType]Tolerance{
			triton.BF16: {Value: 1e-2, Gradient: 2e-2},
			triton.F32:  {Value: 2e-5, Gradient: 2e-4},
		},
	},
	kalmanEntry, affineEntry, attentionEntry,
}

// Find returns the entry of an operation.
func Find(name string) *Entry {
	for i := range Registry {
		if Registry[i].Name == name {
			return &Registry[i]
		}
	}
	return nil
}
