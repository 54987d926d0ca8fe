package kernels

import (
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/kalmarz/kalmarz/layers/triton"
)

func scale(name string, factor int, in, out string) *triton.Kernel {
	k := triton.New(name, 1, 1, 2)
	i := k.Program(0).Mul(16).Add(k.Range(16))
	x := k.In(in, triton.F32, 32)
	k.Out(out, triton.F32, 32).Store(x.Load(i).Mul(factor), i)
	return k
}

const carrier = `module @m {
  func.func @kalmarz_test(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %0 = "stablehlo.constant"() { value = dense<0x7FC00000> : tensor<f32> } : () -> tensor<f32>
    "stablehlo.return"(%0, %0) : (tensor<32xf32>, tensor<32xf32>) -> ()
  }

  func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
    %0, %1 = "func.call"(%x) { callee = @kalmarz_test } : (tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    "stablehlo.return"(%0) : (tensor<32xf32>) -> ()
  }
}
`

func TestRewrite(t *testing.T) {
	f := newFunction("kalmarz_test", []string{"x"}, []string{"z", "y"}, scale("double", 2, "x", "y"), scale("triple", 3, "y", "z"))
	f.reader, f.lean = "kalmarz_reader", []*triton.Kernel{scale("six", 6, "x", "z")}
	if got := Rewrite(carrier); got != "" {
		t.Errorf("a function that nothing called became\n%s", got)
	}
	called.Store(f.Name, f)
	defer called.Delete(f.Name)

	reader := strings.Replace(carrier, "  }\n}", "    %2 = \"func.call\"(%x) { callee = @kalmarz_reader } : (tensor<32xf32>) -> tensor<32xf32>\n  }\n}", 1)
	got := Rewrite(reader)
	for _, part := range []string{
		"  func.func private @kalmarz_test(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {\n    %r0:1 = stablehlo.custom_call @__gpu$xla.gpu.triton(%x) {api_version = 4 : i32",
		"%r1:1 = stablehlo.custom_call @__gpu$xla.gpu.triton(%r0#0) {",
		"grid_x = 2 : i32, grid_y = 1 : i32, grid_z = 1 : i32, ir = \"module {\\0A  tt.func public @triple(",
		"name = \"triple\", num_stages = 1 : i32, num_warps = 1 : i32}, operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[0]> : tensor<1xindex>]} : (tensor<32xf32>) -> (tensor<32xf32>)\n",
		"    return %r1#0, %r0#0 : tensor<32xf32>, tensor<32xf32>\n  }\n",
		"  func.func @main(",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("there is no %q in\n%s", part, got)
		}
	}
	if strings.Contains(got, "0x7FC00000") {
		t.Errorf("the carrier is still there:\n%s", got)
	}
	got = Rewrite(carrier)
	if !strings.Contains(got, "@six") || strings.Contains(got, "@double") || !strings.Contains(got, "return %r0#0, %zero1 : ") {
		t.Errorf("without a reader:\n%s", got)
	}
}

// The lean kernels give the same outputs as those that also serve the reader.
func TestLean(t *testing.T) {
	d := Delta{B: 1, T: 40, H: 2, K: 16, V: 32, C: 16, DType: triton.BF16, Parts: Parts{Erases: true, Decays: true, Rated: true}}
	d.Plan = d.plan()
	cut := d
	cut.Plan.Segments = 2
	a, err := NewAttention(1, 40, 4, 2, 16, 0, 0.25, dtypes.Float32)
	if err != nil {
		t.Fatal(err)
	}
	scan := func(chunks int) *Function {
		f, err := NewKalman(1, 40, 8, 4, chunks, dtypes.Float32, Kalman{Variance: true}, false)
		if err != nil {
			t.Fatal(err)
		}
		return f.Forward()
	}
	for _, c := range []struct {
		f      *Function
		values []string
		saved  string
		sign   float32 // of the inputs
	}{
		{d.Forward(), []string{"o", "last", "y"}, "entry", -1},
		{cut.Forward(), []string{"o", "last", "y"}, "entry", -1},
		{a.Forward(), []string{"o"}, "logs", 1},
		{scan(1), []string{"y", "y_var", "last_lambda", "last_eta"}, "kept_mean", 1},
		{scan(3), []string{"y", "y_var", "last_lambda", "last_eta"}, "kept_mean", 1},
	} {
		in := map[string]*triton.Buffer{}
		for n, a := range c.f.In {
			b := triton.NewBuffer(a.DType, a.Dims...)
			for i := range b.Values {
				b.Values[i] = c.sign * float32((i*7+n*3)%11+1) / 64
			}
			in[a.Name] = b
		}
		want, err := c.f.Run(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Function{Name: "lean", kernels: c.f.lean}).Run(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.values {
			for i, v := range want[name].Values {
				if got[name].Values[i] != v {
					t.Fatalf("%s: %s[%d] = %g without saving and %g with", c.f.Name, name, i, got[name].Values[i], v)
				}
			}
		}
		if got[c.saved] != nil {
			t.Errorf("%s: the lean kernels save %s", c.f.Name, c.saved)
		}
	}
}

func TestFunctionsAreChecked(t *testing.T) {
	for want, build := range map[string]func(){
		"kernels: f: triple reads y, which nothing before it writes": func() { newFunction("f", []string{"x"}, nil, scale("triple", 3, "y", "z")) },
		"kernels: f: no kernel writes y":                             func() { newFunction("f", []string{"x"}, []string{"y"}, scale("triple", 3, "x", "z")) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(error).Error(), want) {
					t.Errorf("%v, expected %s", r, want)
				}
			}()
			build()
		}()
	}
	if _, err := newFunction("f", []string{"x"}, []string{"y"}, scale("double", 2, "x", "y")).Run(nil); err == nil || err.Error() != "f: input x is missing" {
		t.Error(err)
	}
}
