package datasets

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Stack, after Kimi Linear (arXiv 2510.26692): M stacks at once,
//
//	push s1 e7 push s0 e2 pop s1 e7 ...
//	                          e7        targets, at the stack of a pop
//
// Each operation takes a uniform stack, pushes if it is empty and else with
// probability push. The element of a pop is the next token.
var stackKind = &Kind{
	Name: "stack",
	Doc:  "what a pop gives, of many stacks at once",
	Options: option.Set{
		{Name: "stacks", Kind: option.Int, Default: 4, Range: [2]float64{1, 1 << 16}, Help: "M: stacks"},
		{Name: "elements", Kind: option.Int, Default: 8, Range: [2]float64{1, 1 << 16}, Help: "E: what can be pushed"},
		{Name: "len", Kind: option.Int, Default: 48, Range: [2]float64{6, 1 << 16}, Help: "T: positions of a row, of which 3*(len/3) hold operations"},
		{Name: "push", Kind: option.Float, Default: 0.5, Range: [2]float64{0, 0.9}, Help: "probability of a push where a pop is possible"},
	},
	Presets: map[string]map[string]string{
		"small":     {"stacks": "16", "elements": "16", "len": "192"},
		"paper":     {"stacks": "64", "elements": "32", "len": "1024"},
		"kimi-256":  {"stacks": "64", "elements": "32", "len": "256"},
		"kimi-512":  {"stacks": "64", "elements": "32", "len": "512"},
		"kimi-2048": {"stacks": "64", "elements": "32", "len": "2048"},
	},
	New: newStack,
}

const (
	stackPad = iota
	stackPush
	stackPop
	stackFirst // id of the first stack; elements follow the stacks
)

func newStack(v option.Values) (Task, error) {
	M, E, ops, push := v.Int("stacks"), v.Int("elements"), v.Int("len")/3, v.Float("push")
	element := int32(stackFirst + M)
	return &generator{
		info: Info{Name: "stack", Vocab: int(element) + E, Classes: int(element) + E, T: 3 * ops, Scored: pops(M, ops, push), Chance: 1 / float64(E), Values: v},
		maker: func() rowMaker {
			stacks := make([][]int32, M)
			return func(r *rand.Rand, _ Split, in, target []int32, mask []float32) bool {
				for s := range stacks {
					stacks[s] = stacks[s][:0]
				}
				popped := false
				for t := 0; t < len(in); t += 3 {
					s := r.IntN(M)
					stack, op := stacks[s], int32(stackPop)
					if len(stack) == 0 || r.Float64() < push {
						op = stackPush
						stack = append(stack, element+r.Int32N(int32(E)))
					}
					top := stack[len(stack)-1]
					if op == stackPop {
						popped = true
						stack = stack[:len(stack)-1]
						target[t+1], mask[t+1] = top, 1
					}
					in[t], in[t+1], in[t+2] = op, stackFirst+int32(s), top
					stacks[s] = stack
				}
				return popped // else nothing is scored
			}
		},
		oracle: func(in []int32, _ []float32, answers []int32) {
			stacks := map[int32][]int32{}
			for t := 0; t < len(in); t += 3 {
				s := in[t+1]
				if in[t] == stackPush {
					stacks[s] = append(stacks[s], in[t+2])
					continue
				}
				top := len(stacks[s]) - 1
				answers[t+1] = stacks[s][top]
				stacks[s] = stacks[s][:top]
			}
		},
		modes:  []string{"len"},
		longer: lengthen(newStack, v),
		token: func(id int32) string {
			switch {
			case id < stackFirst:
				return []string{"_", "push", "pop"}[id]
			case id < element:
				return fmt.Sprintf("s%d", id-stackFirst)
			}
			return fmt.Sprintf("e%d", id-element)
		},
		details: []Detail{
			{"depth", powerBins(ops), stackBins(func(depth, _ int) int { return depth })},
			{"distance", powerBins(3 * ops), stackBins(func(_, distance int) int { return distance })},
		},
	}, nil
}

// pops is the expected number of pops, among rows that have any. A stack's depth
// is a chain that moves with probability 1/M an operation: up from 0, else up
// with probability push. It hardly ever exceeds the bound taken here.
func pops(M, ops int, push float64) float64 {
	mean, move := float64(ops)/float64(M), 1/float64(M)
	depth := make([]float64, min(ops, int(mean+12*math.Sqrt(mean)+40))+2)
	next := make([]float64, len(depth))
	depth[0] = 1
	sum := 0.0
	for range ops {
		clear(next)
		next[0], next[1] = depth[0]*(1-move), depth[0]*move
		for d := 1; d < len(depth)-1; d++ {
			x := depth[d]
			sum += x * (1 - push)
			next[d] += x * (1 - move)
			next[d+1] += x * move * push
			next[d-1] += x * move * (1 - push)
		}
		depth, next = next, depth
	}
	// Without a pop, each operation opens a new stack or pushes onto an old one.
	open := make([]float64, min(ops, M)+2)
	open[0] = 1
	for range ops {
		for n := len(open) - 2; n >= 0; n-- {
			old := float64(n) * move
			open[n+1] += open[n] * (1 - old)
			open[n] *= old * push
		}
	}
	some := 1.0
	for _, x := range open {
		some -= x
	}
	return sum / some
}

// stackBins replays rows and sorts each pop by the depth of its stack before it,
// or by the positions since the push of what it gives.
func stackBins(by func(depth, distance int) int) func(Batch) []int32 {
	return func(b Batch) []int32 {
		bin := make([]int32, b.Rows*b.T)
		for row := range b.Rows {
			in, _, _ := b.Row(row)
			out := bin[row*b.T:]
			pushed := map[int32][]int{}
			for t := range in {
				out[t] = -1
			}
			for t := 0; t < b.T; t += 3 {
				s := in[t+1]
				if in[t] == stackPush {
					pushed[s] = append(pushed[s], t)
					continue
				}
				depth := len(pushed[s])
				out[t+1] = powerBin(by(depth, t-pushed[s][depth-1]))
				pushed[s] = pushed[s][:depth-1]
			}
		}
		return bin
	}
}
