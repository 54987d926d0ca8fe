package lab

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npz"
)

// probed runs the command and returns what it printed and the folder it made.
func probeIn(t *testing.T, words string) (string, string, error) {
	t.Helper()
	dir := t.TempDir()
	var out strings.Builder
	s := NewSession(&out, io.Discard)
	s.Backend = "go"
	err := probe(context.Background(), s, append(strings.Fields(words), "out="+dir))
	made, _ := filepath.Glob(filepath.Join(dir, "probe-*"))
	if err == nil && len(made) != 1 {
		t.Fatalf("%q made %v", words, made)
	}
	return out.String(), strings.Join(made, ""), err
}

func TestProbe(t *testing.T) {
	onPureGo(t)
	out, dir, err := probeIn(t, "mixer=kalman,gdn layers=2 width=16 d_state=4 --tokens 3,1,4,1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kalman  gain", "kalman  precision", "gdn     residual", "norm/state", "4 tokens"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	z, err := npz.Open(filepath.Join(dir, "probe.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var tokens []int32
	var gain []float64
	for name, to := range map[string]any{"tokens.npy": &tokens, "layers.0.gain.npy": &gain} {
		if err := z.Read(name, to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if h := z.Header("layers.0.gain.npy"); !slices.Equal(h.Descr.Shape, []int{4, 32}) || !slices.Equal(tokens, []int32{3, 1, 4, 1}) {
		t.Errorf("gain %v of tokens %v", h.Descr.Shape, tokens)
	}
	csv, err := os.ReadFile(filepath.Join(dir, "traces.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(csv), "\n")
	if lines[0] != "position,token,layer,mixer,quantity,index,value" || !strings.HasPrefix(lines[1], "0,3,0,kalman,precision,0,") {
		t.Errorf("table begins\n%s\n%s", lines[0], lines[1])
	}
	for _, name := range []string{"probe.svg", "probe.png", "probe.pdf", "probe.csv"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for words, want := range map[string]string{
		"mixer=kalman --tokens 3,x":         `"x" is no id`,
		"mixer=kalman --tokens 3,99999":     "token 1 is 99999: must be in [0, ",
		"--run /nowhere/run":                "/nowhere/run",
		"mixer=gdn --run /nowhere":          "mixer=gdn: the model of --run has its own configuration",
		"mixer=kalman --token 3":            "unknown flag --token",
		"mixer=kalmann --tokens 3":          "kalmann",
		"mixer=kalman d_state=0 --tokens 3": "d_state = 0",
	} {
		if _, _, err := probeIn(t, words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", words, err, want)
		}
	}
}
