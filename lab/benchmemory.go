package lab

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
)

const deviceProgram = "device memory of the compiled program: arguments, results and temporaries"

// deviceMemory is what XLA's compiler says that a program takes on its device;
// nil on other backends. PJRT's binding holds the sizes behind a private field of
// GoMLX's executable, of which reflection can read but not change it.
func deviceMemory(executable any) *Memory {
	e := reflect.ValueOf(executable)
	for _, name := range []string{"exec", "OnDeviceMemoryUsageStats"} {
		if e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		if e.Kind() != reflect.Struct || !e.FieldByName(name).IsValid() {
			return nil
		}
		e = e.FieldByName(name)
	}
	m := Memory{Of: deviceProgram}
	for name, sign := range map[string]int64{"Inputs": 1, "Outputs": 1, "Aliases": -1, "Temporary": 1, "GeneratedCode": 1} {
		f := e.FieldByName(name)
		if !f.IsValid() || !f.CanInt() {
			return nil
		}
		m.Bytes += sign * f.Int()
	}
	return &m
}

// fits returns an error if a graph cannot run in the machine's free memory: on
// CPUs an allocation that fails ends the process, and there would be no row. On
// GPUs the runtime's own error says it.
func fits(g *Graph) error {
	free := freeMemory()
	if grad.GPU(g) || free == 0 {
		return nil
	}
	need, what := int64(0), "one array"
	for _, n := range g.Nodes() {
		if n.NumOutputs() == 1 {
			need = max(need, n.Shape().ByteSize())
		}
	}
	if m := deviceMemory(g.Executable()); m != nil && m.Bytes > need {
		need, what = m.Bytes, "the program"
	}
	if need > free {
		return fmt.Errorf("too little memory here: %s takes %sB, and %sB are free", what, short(float64(need)), short(float64(free)))
	}
	return nil
}

// freeMemory is what the machine can still give, 0 where it does not say.
func freeMemory() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		var kB int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kB); n == 1 {
			return kB << 10
		}
	}
	return 0
}
