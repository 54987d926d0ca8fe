package lab

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/kernels"
	"github.com/kalmarz/kalmarz/layers/triton"
)

// selftestOf runs the command on pure Go and returns what it printed.
func selftestOf(s *Session, words string) (string, error) {
	var out bytes.Buffer
	s.Out = &out
	err := selftest(context.Background(), s, strings.Fields(words))
	return out.String(), err
}

// Chunk lengths have rows of their own, in float32 and in bfloat16 throughout, and
// what is kept is what is printed.
func TestSelftestByChunk(t *testing.T) {
	onPureGo(t)
	dir := t.TempDir()
	text, err := selftestOf(fresh(), "--chunks 8,32 --save "+dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{"\ndelta rule ", "chunk 32, narrow  bfloat16", "\n20 of 20 within tolerance on go:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "*-selftest-chunks-8-32.json"))
	if len(kept) != 1 || !strings.HasSuffix(text, "\nsaved "+kept[0]+"\n") {
		t.Fatalf("kept %q", kept)
	}
	var r TestReport
	if err := readJSON(kept[0], &r); err != nil || len(r.Rows) != 20 || r.Device == "" || r.Versions["go"] == nil {
		t.Fatalf("%v: %+v", err, r)
	}
	exact := map[string]Number{}
	for _, row := range r.Rows {
		name, narrow := strings.CutSuffix(row.Form, ", narrow")
		if !row.Pass || row.Gradient <= 0 || narrow != (row.DType == "bfloat16") || narrow && row.Value < 10*exact[row.Mixer+name] {
			t.Errorf("%+v", row)
		}
		exact[row.Mixer+name] = row.Value
	}
}

func TestSelftestRefuses(t *testing.T) {
	onPureGo(t)
	for words, want := range map[string]string{
		"--chunks 12":               "--chunks 12: must be powers of two up to 1024 with commas",
		"--chunks 16,":              "--chunks 16,: must be powers of two up to 1024 with commas",
		"--chunks 16 --mixer gdn":   "give one of them",
		"--kernels --golden x.npz":  "give one of them",
		"--kernels":                 "has no fused kernels: doctor says why",
		"--mixer mamba3":            "mamba3",
		"--save /dev/null/x --json": "--save /dev/null/x: ",
		"now":                       `"now": selftest takes --mixer MIXER`,
	} {
		if _, err := selftestOf(session(), words); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}

// A kernel that cannot be built, one that the compiler refuses and one that panics
// are failed rows with the reason, and the others are measured.
func TestKernelsThatFail(t *testing.T) {
	onPureGo(t)
	s := fresh()
	be, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	kernels.Use(be, func(f *kernels.Function, xs []*Node) (out []*Node) {
		switch n++; n {
		case 1:
			panic(errors.New("kernels: forward: o is not written"))
		case 2:
			panic(errors.New("PJRT error (code=8): RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 232448"))
		case 3:
			panic("no error, but a panic\nstack")
		}
		for _, a := range f.Out { // wrong numbers
			dtype := dtypes.Float32
			if a.DType == triton.BF16 {
				dtype = dtypes.BFloat16
			}
			out = append(out, Ones(xs[0].Graph(), shapes.Make(dtype, a.Dims...)))
		}
		return out
	})
	defer kernels.Forget(be)
	text, err := selftestOf(s, "--kernels --mixer kalman")
	if !errors.Is(err, errFailed) {
		t.Fatalf("%v\n%s", err, text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
	for i, want := range []string{
		"FAILED kernels: forward: o is not written",
		"FAILED RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 262144, available: 232448; KALMARZ_KERNELS=off takes the graph form instead of a fused kernel",
		"FAILED no error, but a panic",
	} {
		if !strings.HasSuffix(lines[i], want) || !strings.Contains(lines[i], " - ") {
			t.Errorf("row %d: %q, want %q", i, lines[i], want)
		}
	}
	rest := lines[3 : len(lines)-1]
	if len(lines) != 18+1 || !strings.HasPrefix(lines[18], "0 of 18 within tolerance") {
		t.Errorf("%d rows:\n%s", len(lines)-1, text)
	}
	for _, line := range rest {
		if !strings.HasSuffix(strings.TrimSpace(line), "FAILED") || strings.Contains(line, "  -  ") && !strings.Contains(line, "alone") {
			t.Errorf("was not measured: %q", line)
		}
	}
}
