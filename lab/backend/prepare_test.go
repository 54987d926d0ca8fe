package backend

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	tests := []struct {
		in, want []string
	}{
		{[]string{"A=1"}, []string{"A=1", "GODEBUG=cpu.fma=off"}},
		{[]string{"GODEBUG=", "A=1"}, []string{"A=1", "GODEBUG=cpu.fma=off"}},
		{[]string{"GODEBUG=gctrace=1", "A=1"}, []string{"A=1", "GODEBUG=gctrace=1,cpu.fma=off"}},
	}
	for _, test := range tests {
		if got := environment(test.in); !slices.Equal(got, test.want) {
			t.Errorf("environment(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	for debug, want := range map[string][2]bool{
		"": {}, "gctrace=1": {}, "cpu.fma=off": {true, true}, "cpu.fma=on": {false, true}, "cpu.fma=on,gctrace=1,cpu.fma=off": {true, true},
	} {
		if off, decided := withoutFMA(debug); off != want[0] || decided != want[1] {
			t.Errorf("withoutFMA(%q) = %v, %v", debug, off, decided)
		}
	}
}

// TestPrepare runs this test binary as a program that calls Prepare: it must
// start anew once at most, keep its arguments, and leave a set GODEBUG alone.
func TestPrepare(t *testing.T) {
	if os.Getenv("BACKEND_TEST_PREPARE") != "" {
		if err := Prepare(); err != nil {
			t.Fatal(err)
		}
		t.Logf("GODEBUG is %q with %d arguments", os.Getenv("GODEBUG"), len(os.Args))
		return
	}
	added := ""
	if needsFMAOff {
		added = "cpu.fma=off"
	}
	for given, want := range map[string]string{"": added, "cpu.fma=on": "cpu.fma=on", "cpu.fma=off": "cpu.fma=off"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPrepare$", "-test.v")
		cmd.Env = append(os.Environ(), "BACKEND_TEST_PREPARE=1", "GODEBUG="+given)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), `GODEBUG is "`+want+`" with 3 arguments`) {
			t.Errorf("GODEBUG=%q: want %q, got %v\n%s", given, want, err, out)
		}
	}
}
