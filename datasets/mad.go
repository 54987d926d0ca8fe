package datasets

import (
	"fmt"

	"github.com/kalmarz/kalmarz/layers/option"
)

// The six tasks of mechanistic architecture design, MAD (Poli et al., arXiv
// 2403.17844), share fixed pools of 12,800 training and 1,280 test rows, and a
// ladder of harder settings that each move one option. MAD's score of a task is
// the mean over its paper setting and its ladder.

// poolOptions are the options of a task with fixed rows.
func poolOptions(train, test int) option.Set {
	return option.Set{
		{Name: "train", Kind: option.Int, Default: train, Range: [2]float64{0, 999_999}, Help: "training rows, used again every epoch; 0: fresh rows without end"},
		{Name: "test", Kind: option.Int, Default: test, Range: [2]float64{0, 999_999}, Help: "test rows, and validation rows; 0: without end"},
	}
}

func pools(v option.Values) [3]int {
	return [3]int{Train: v.Int("train"), Validation: v.Int("test"), Test: v.Int("test")}
}

// rungs lists settings that move one option each: "vocab", 32, 64, 128.
func rungs(axes ...[]any) []map[string]string {
	var ladder []map[string]string
	for _, axis := range axes {
		for _, value := range axis[1:] {
			ladder = append(ladder, map[string]string{axis[0].(string): option.Format(value)})
		}
	}
	return ladder
}

// fewerRows is MAD's ladder of training pools.
var fewerRows = []any{"train", 6400, 3200, 1600, 800}

// madToken names keys, values and then the special ids in order.
func madToken(keys, content int, special ...string) func(int32) string {
	return func(id int32) string {
		switch i := int(id); {
		case i < keys:
			return fmt.Sprintf("k%d", i)
		case i < content:
			return fmt.Sprintf("v%d", i-keys)
		case i-content < len(special):
			return special[i-content]
		default:
			return fmt.Sprintf("n%d", i-content-len(special))
		}
	}
}
