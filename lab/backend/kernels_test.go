package backend

import (
	"strings"
	"testing"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// Doctor says where kernels run, and which run only where they are asked for.
func TestKernelLines(t *testing.T) {
	lines := kernelLines(true, Choice{Platform: "xla:cuda"})
	for i, e := range kernels.Registry {
		end := "; by themselves for " + e.Pays
		if e.Pays == "" {
			end = "; not yet checked on a device: only where form=kernel asks for them"
		}
		if want := e.Name + ", on: " + e.Range + end; lines[i] != want {
			t.Errorf("%q, expected %q", lines[i], want)
		}
	}
	for _, line := range kernelLines(false, Choice{Platform: "go"}) {
		if !strings.Contains(line, ", off: the backend is not an NVIDIA device: ") {
			t.Error(line)
		}
	}
}
