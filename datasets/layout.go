package datasets

import (
	"fmt"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// layouts are what must hold of every row of a task besides its answers: where
// keys, needles and queries stand, and what is scored. They look at rows as
// drawn and share no code with what draws or answers them. scored is false for
// training rows that are scored everywhere.
var layouts = map[string]func(v option.Values, in, target []int32, mask []float32, scored bool) error{
	"mqar":           mqarLayout,
	"mqar-kimi":      kimiLayout,
	"recall":         recallLayout,
	"noisy-recall":   recallLayout,
	"fuzzy-recall":   fuzzyLayout,
	"selective-copy": copyLayout,
	"compression":    compressionLayout,
	"memorization":   memorizationLayout,
	"stack":          stackLayout,
	"palindrome":     palindromeLayout,
	"niah":           niahLayout,
}

// checkLayout: rows have the shape that the task's protocol gives them, and an
// unmasked training row is a language.
func checkLayout(t Task, rows int) (string, error) {
	info := t.Info()
	rule := layouts[info.Name]
	for _, split := range Splits {
		b, err := t.Batch(split, 1, 0, rows)
		if err != nil {
			return "", err
		}
		language := split == Train && info.Unmasked
		for row := range b.Rows {
			in, target, mask := b.Row(row)
			if language && !slices.Equal(in[1:], target[:len(target)-1]) {
				return "", fmt.Errorf("%s row %d: targets are not the next tokens", split, row)
			}
			if rule == nil {
				continue
			}
			if err := rule(info.Values, in, target, mask, !language); err != nil {
				return "", fmt.Errorf("%s row %d: %w", split, row, err)
			}
		}
	}
	if rule == nil {
		return "no rule of its own", nil
	}
	return fmt.Sprintf("as it must be on %d rows", 3*rows), nil
}

// pairs reads keys in [lo, mid) with values in [mid, hi).
func pairs(in []int32, lo, mid, hi int32) (map[int32]int32, error) {
	value := map[int32]int32{}
	for t := 0; t+1 < len(in); t += 2 {
		k, v := in[t], in[t+1]
		if _, twice := value[k]; twice || k < lo || k >= mid || v < mid || v >= hi {
			return nil, fmt.Errorf("key %d with value %d at %d: keys must be distinct and in [%d, %d), values in [%d, %d)", k, v, t, lo, mid, mid, hi)
		}
		value[k] = v
	}
	return value, nil
}

func mqarLayout(v option.Values, in, target []int32, mask []float32, _ bool) error {
	V, K := int32(v.Int("vocab")), v.Int("pairs")
	value, err := pairs(in[:2*K], 1, V/2, V)
	if err != nil {
		return err
	}
	different, asked := map[int32]bool{}, map[int32]bool{}
	for _, x := range value {
		different[x] = true
	}
	for t, m := range mask {
		if m == 0 {
			continue
		}
		if t < 2*K || t%2 != 0 || asked[in[t]] || value[in[t]] != target[t] {
			return fmt.Errorf("query %d at %d for %d: must be a key not asked for yet, at an even offset after the context", in[t], t, target[t])
		}
		asked[in[t]] = true
	}
	if len(different) != K || len(asked) != K {
		return fmt.Errorf("%d different values, %d queries: must be %d", len(different), len(asked), K)
	}
	return nil
}

func kimiLayout(v option.Values, in, target []int32, mask []float32, _ bool) error {
	V, K := int32(v.Int("vocab")), v.Int("pairs")
	value, err := pairs(in[:2*K], 0, V/2, V)
	if err != nil {
		return err
	}
	for t, m := range mask {
		if x, known := value[in[t]]; (m == 1) != (t > 2*K) || t > 2*K && (!known || x != target[t]) || t == 2*K && in[t] != V {
			return fmt.Errorf("token %d at %d, scored %g: after the bar there must be queries and nothing else", in[t], t, m)
		}
	}
	return nil
}

// recallLayout: a key has one value in a row, and what is scored follows a key
// that was seen before. Noise is neither.
func recallLayout(v option.Values, in, target []int32, mask []float32, scored bool) error {
	content := int32(v.Int("vocab"))
	if n, noisy := v["noise"].(int); noisy {
		content -= int32(n)
	}
	if single, ok := v["single"].(bool); ok && single {
		content--
	}
	keys, value, last := content/2, map[int32]int32{}, len(in)-1
	for t, k := range in {
		old, known := value[k]
		if scored && mask[t] != 0 && (!known || old != target[t]) {
			return fmt.Errorf("%d is scored at %d for %d: must be a key seen before, with its value", k, t, target[t])
		}
		if k >= keys || t == last {
			continue
		}
		if x := in[t+1]; x < keys || x >= content || known && old != x {
			return fmt.Errorf("key %d at %d has value %d: must be in [%d, %d) and always the same", k, t, x, keys, content)
		}
		value[k] = in[t+1]
	}
	if mask[last] != 1 {
		return fmt.Errorf("the last pair is not scored")
	}
	return nil
}

// fuzzyLayout: padding is at the start only, and the last value is scored.
func fuzzyLayout(v option.Values, in, _ []int32, mask []float32, _ bool) error {
	pad := int32(v.Int("vocab") - 1)
	first := slices.IndexFunc(in, func(x int32) bool { return x != pad })
	if first < 0 || slices.Contains(in[first:], pad) || mask[len(mask)-1] != 1 {
		return fmt.Errorf("padding must be at the start only, and the end scored: %v", in[:min(16, len(in))])
	}
	return nil
}
