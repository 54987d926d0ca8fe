package kernels

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/support/exceptions"

	"github.com/kalmarz/kalmarz/layers/triton"
)

// Function is an operation made of kernels that run one after the other over
// arrays with names. Arrays that are neither inputs nor outputs live in between.
type Function struct {
	Name    string
	In, Out []triton.Argument
	kernels []*triton.Kernel

	// Where a program does not call the function called reader, lean kernels run
	// instead; outputs that only the reader reads are then zeros.
	reader string
	lean   []*triton.Kernel

	printed, printedLean printed
}

// printed is a function's text, which every program that calls it gets.
type printed struct {
	once sync.Once
	text string
}

var made sync.Map // *Function by what it is made for

// shared returns the function for a problem and a pass, which is made once in a
// process: layers and graphs of one shape share it.
func shared(problem any, pass string, build func() *Function) *Function {
	key := [2]any{problem, pass}
	f, found := made.Load(key)
	if !found {
		f, _ = made.LoadOrStore(key, build())
	}
	return f.(*Function)
}

// newFunction finds the arrays' shapes in the kernels, which must agree.
func newFunction(name string, in, out []string, ks ...*triton.Kernel) *Function {
	f := &Function{Name: name, kernels: ks}
	arrays, ready := f.arrays(ks), map[string]bool{}
	for _, n := range in {
		ready[n] = true
		f.In = append(f.In, arrays[n])
	}
	for _, k := range ks {
		for _, a := range k.Args() {
			if !a.Written && !ready[a.Name] {
				exceptions.Panicf("kernels: %s: %s reads %s, which nothing before it writes", name, k.Name, a.Name)
			}
			ready[a.Name] = true
		}
	}
	for _, n := range out {
		if !ready[n] {
			exceptions.Panicf("kernels: %s: no kernel writes %s", name, n)
		}
		f.Out = append(f.Out, arrays[n])
	}
	return f
}

func (f *Function) arrays(ks []*triton.Kernel) map[string]triton.Argument {
	arrays := map[string]triton.Argument{}
	for _, k := range ks {
		for _, a := range k.Args() {
			if b, found := arrays[a.Name]; found && (a.DType != b.DType || !slices.Equal(a.Dims, b.Dims)) {
				exceptions.Panicf("kernels: %s: %s is %s%v in one kernel and %s%v in another", f.Name, a.Name, a.DType, a.Dims, b.DType, b.Dims)
			}
			arrays[a.Name] = a
		}
	}
	return arrays
}

// Run interprets the kernels on arrays by name and returns all that there are at
// the end. Inputs must have the types and shapes of In.
func (f *Function) Run(inputs map[string]*triton.Buffer) (map[string]*triton.Buffer, error) {
	all := maps.Clone(inputs)
	for _, k := range f.kernels {
		var args []*triton.Buffer
		for _, a := range k.Args() {
			if a.Written {
				all[a.Name] = triton.NewBuffer(a.DType, a.Dims...)
			} else if all[a.Name] == nil {
				return nil, fmt.Errorf("%s: input %s is missing", f.Name, a.Name)
			}
			args = append(args, all[a.Name])
		}
		if err := k.Run(args...); err != nil {
			return nil, err
		}
	}
	return all, nil
}
