package datasets

import (
	"fmt"
	"slices"

	"github.com/kalmarz/kalmarz/layers/option"
)

// copyLayout: without blanks, what is before the copy token is what is wanted,
// and its last token stands directly before it.
func copyLayout(v option.Values, in, target []int32, mask []float32, _ bool) error {
	L, N, blank := v.Int("len"), v.Int("copy"), int32(v.Int("vocab")-2)
	at := slices.Index(in, blank+1)
	if at != L-N-1 || in[at-1] == blank {
		return fmt.Errorf("copy token at %d: must be at %d, right after a token to copy", at, L-N-1)
	}
	content := slices.DeleteFunc(slices.Clone(in[:at]), func(x int32) bool { return x == blank })
	if !slices.Equal(content, target[at+1:]) {
		return fmt.Errorf("wants %v: must be %v", target[at+1:], content)
	}
	for t := range in {
		if (mask[t] == 1) != (t > at) || t > at && in[t] != blank {
			return fmt.Errorf("token %d at %d, scored %g: after the copy token there must be blanks, which alone are scored", in[t], t, mask[t])
		}
	}
	return nil
}

func compressionLayout(v option.Values, in, target []int32, _ []float32, _ bool) error {
	last, end := len(in)-1, int32(v.Int("vocab")-1)
	if in[last] != end || slices.Contains(in[:last], end) || !slices.Equal(in, target) {
		return fmt.Errorf("%v wants %v: must want itself, with %d at its end only", in, target, end)
	}
	return nil
}

// memorizationLayout: keys and insert tokens take turns, and a key has one value.
func memorizationLayout(v option.Values, in, target []int32, mask []float32, _ bool) error {
	insert := int32(v.Int("vocab") - 1)
	keys, value := insert/2, map[int32]int32{}
	for t := 0; t < len(in); t += 2 {
		k, x := in[t], target[t+1]
		if old, known := value[k]; k >= keys || in[t+1] != insert || mask[t] != 0 || mask[t+1] != 1 || x < keys || x >= insert || known && old != x {
			return fmt.Errorf("%d %d at %d wants %d: must be a key in [0, %d) and %d, wanting the key's one value", k, in[t+1], t, x, keys, insert)
		}
		value[k] = x
	}
	return nil
}

// stackLayout replays the row; pops alone are scored.
func stackLayout(_ option.Values, in, target []int32, mask []float32, _ bool) error {
	stacks := map[int32][]int32{}
	for t := 0; t < len(in); t += 3 {
		op, s, e := in[t], in[t+1], in[t+2]
		top := len(stacks[s]) - 1
		pop := op == stackPop
		if (mask[t+1] == 1) != pop || mask[t] != 0 || mask[t+2] != 0 {
			return fmt.Errorf("operation at %d: its stack must be scored if it is a pop, and nothing else", t)
		}
		switch {
		case op == stackPush:
			stacks[s] = append(stacks[s], e)
		case !pop || top < 0 || stacks[s][top] != e || target[t+1] != e:
			return fmt.Errorf("operation %d %d %d at %d: must push, or pop what is on top", op, s, e, t)
		default:
			stacks[s] = stacks[s][:top]
		}
	}
	return nil
}

func palindromeLayout(v option.Values, in, _ []int32, mask []float32, _ bool) error {
	n, bar := len(in)/2, int32(v.Int("symbols"))
	back := slices.Clone(in)
	slices.Reverse(back)
	if in[n] != bar || slices.Contains(in[:n], bar) || !slices.Equal(in, back) {
		return fmt.Errorf("%v: must be the same from both ends, with the bar in the middle only", in)
	}
	for t, m := range mask {
		if want := t < 2*n && (t > n || t == n && v.Bool("bar")); (m == 1) != want {
			return fmt.Errorf("position %d, scored %g: only what comes after the bar is wanted", t, m)
		}
	}
	return nil
}

// niahLayout: one needle, whole and before the last token of the haystack; the
// row ends by asking for it.
func niahLayout(v option.Values, in, target []int32, mask []float32, _ bool) error {
	m, T, K := v.Int("value"), len(in), int32(v.Int("keys"))
	at, query := slices.Index(in, niahMark), slices.Index(in, niahQuery)
	if query != T-m-1 || at < 0 || at+m+2 >= query || slices.Contains(in[at+1:], niahMark) {
		return fmt.Errorf("needle at %d, query at %d: must be one needle within the haystack, and the query at %d", at, query, T-m-1)
	}
	key, value := in[at+1], in[at+2:at+2+m]
	if key < niahKey || key >= niahKey+K || in[query+1] != key || !slices.Equal(target[query+1:], value) || !slices.Equal(in[query+2:], value[:m-1]) {
		return fmt.Errorf("needle %d %v, query %d wants %v", key, value, in[query+1], target[query+1:])
	}
	for t, x := range mask {
		if (x == 1) != (t > query) {
			return fmt.Errorf("position %d, scored %g: only what comes after the query is wanted", t, x)
		}
	}
	return nil
}
