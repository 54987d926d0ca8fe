package kernels

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalmarz/kalmarz/layers/triton"
)

// called holds the functions that graphs of this process call, by name.
var called sync.Map

var (
	escape = strings.NewReplacer("\\", "\\5C", "\"", "\\22", "\n", "\\0A")
	body   = regexp.MustCompile(`(?ms)^  func\.func (?:private |public )?@(kalmarz_\w+)\(.*?^  \}$`)
)

// Rewrite puts kernels into a StableHLO program, as go-xla prints it, in place of
// the bodies of the functions that have them. It returns "" if there are none.
func Rewrite(program string) string {
	if !strings.Contains(program, "@kalmarz_") {
		return ""
	}
	found := false
	out := body.ReplaceAllStringFunc(program, func(text string) string {
		f, known := called.Load(body.FindStringSubmatch(text)[1])
		if !known {
			return text
		}
		found = true
		return f.(*Function).text(program)
	})
	if !found {
		return ""
	}
	return out
}

// text prints the function with its kernels for use in a program.
func (f *Function) text(program string) string {
	ks, p := f.kernels, &f.printed
	if f.reader != "" && !strings.Contains(program, "@"+f.reader) {
		ks, p = f.lean, &f.printedLean
	}
	p.once.Do(func() { p.text = f.print(ks) })
	return p.text
}

// print prints it with some kernels.
func (f *Function) print(ks []*triton.Kernel) string {
	values := map[string]string{}
	var in, out, results []string
	for _, a := range f.In {
		values[a.Name] = "%" + a.Name
		in = append(in, "%"+a.Name+": "+tensor(a))
	}
	for _, a := range f.Out {
		out = append(out, tensor(a))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  func.func private @%s(%s) -> (%s) {\n", f.Name, strings.Join(in, ", "), strings.Join(out, ", "))
	for n, k := range ks {
		call(&b, n, k, values)
	}
	for n, a := range f.Out {
		if values[a.Name] == "" {
			values[a.Name] = fmt.Sprintf("%%zero%d", n)
			fmt.Fprintf(&b, "    %s = stablehlo.constant dense<0.0> : %s\n", values[a.Name], tensor(a))
		}
		results = append(results, values[a.Name])
	}
	fmt.Fprintf(&b, "    return %s : %s\n  }", strings.Join(results, ", "), strings.Join(out, ", "))
	return b.String()
}

// call prints the launch of kernel n and adds its results to values.
func call(b *strings.Builder, n int, k *triton.Kernel, values map[string]string) {
	var operands, inTypes, outTypes, inLayouts, outLayouts, written []string
	for _, a := range k.Args() {
		if a.Written {
			written, outTypes, outLayouts = append(written, a.Name), append(outTypes, tensor(a)), append(outLayouts, layout(a))
		} else {
			operands, inTypes, inLayouts = append(operands, values[a.Name]), append(inTypes, tensor(a)), append(inLayouts, layout(a))
		}
	}
	result := fmt.Sprintf("%%r%d", n)
	for i, name := range written {
		values[name] = fmt.Sprintf("%s#%d", result, i)
	}
	fmt.Fprintf(b, "    %s:%d = stablehlo.custom_call @__gpu$xla.gpu.triton(%s) {api_version = 4 : i32, backend_config = {debug = false, "+
		"grid_x = %d : i32, grid_y = %d : i32, grid_z = %d : i32, ir = \"%s\", name = \"%s\", num_stages = %d : i32, num_warps = %d : i32}, "+
		"operand_layouts = [%s], result_layouts = [%s]} : (%s) -> (%s)\n",
		result, len(written), strings.Join(operands, ", "), k.Grid[0], k.Grid[1], k.Grid[2], escape.Replace(k.Text()), k.Name, k.Stages, k.Warps,
		strings.Join(inLayouts, ", "), strings.Join(outLayouts, ", "), strings.Join(inTypes, ", "), strings.Join(outTypes, ", "))
}

func tensor(a triton.Argument) string {
	var b strings.Builder
	for _, d := range a.Dims {
		fmt.Fprintf(&b, "%dx", d)
	}
	return fmt.Sprintf("tensor<%s%s>", b.String(), a.DType)
}

// layout is row-major.
func layout(a triton.Argument) string {
	var axes []string
	for axis := range a.Dims {
		axes = append(axes, fmt.Sprint(axis))
	}
	slices.Reverse(axes)
	return fmt.Sprintf("dense<[%s]> : tensor<%dxindex>", strings.Join(axes, ", "), len(axes))
}
