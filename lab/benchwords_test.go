package lab

import (
	"context"
	"strings"
	"testing"
)

func TestBenchWords(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "delta filter scan attention layer train prefill decode",
		"decay=head T=2048":             "delta",
		"mixers=gdn":                    "layer train prefill decode",
		"dtype=bfloat16 preset=b1t32":   "delta filter attention layer",
		"decode train model=12x768":     "decode train",
		"filter delta H=4":              "filter delta",
		"scan repeat=3 budget=1 --json": "scan",
	} {
		q, err := readBench(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got []string
		for _, b := range q.benches {
			got = append(got, b.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: benches %v, want %s", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"dleta":                 `bench "dleta" (did you mean delta?): known are delta, filter, scan, attention, layer, train, prefill, decode`,
		"scan H=4":              "bench: no bench here has all of H; help bench lists their keys",
		"decay=head mixers=gdn": "bench: no bench here has all of decay, mixers; help bench lists their keys",
		"HH=4":                  `bench: unknown key "HH"`,
		"B=1 B=2":               "bench: B is given twice",
		"preset=2048":           "bench: preset = 2048: must be a shape like b16t2048",
		"train preset=b1t8":     "bench train: presets are of operators: it takes B, T and model",
		"delta B=-1":            "bench delta: B = -1: must be a whole number in [0, 1.073741824e+09]",
		"delta --from x":        `bench: "delta": --from shows what is kept and takes no words`,
	} {
		if _, err := readBench(strings.Fields(line)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
	for line, want := range map[string]string{
		"delta T=8,8":               "bench delta: T = 8,8: must be different whole numbers of tokens with commas",
		"delta T=x":                 "bench delta: T = x: must be different whole numbers of tokens with commas",
		"delta chunks=3":            "bench delta: chunks = 3: must be powers of two with commas",
		"delta plan=64,4":           "bench delta: plan = 64,4: must be 10 whole numbers with commas: columns, warps, stages, segments of a sequence",
		"attention plan=64,4":       "bench attention: plan = 64,4: must be 15 whole numbers with commas: rows of a program and tokens of a turn",
		"attention form=tree":       "bench attention: form = tree: it has no such form",
		"prefill form=tree":         "bench prefill: form = tree: of models it must be chosen, recurrent or kernel",
		"scan form=chunk":           "bench scan: form = chunk: it has no such form",
		"train model=big":           "bench train: model = big: must be layers x width, as 12x768",
		"layer mixers=gdn,x":        `bench layer: unknown mixer "x"`,
		"delta B=0":                 "bench delta: B = 0: must be at least 1",
		"layer mixers=mamba2 D=8":   "bench layer: H = 2, D = 8: mixer mamba2: dv = 64: must divide",
		"decode heads=3 mixers=gdn": "bench decode: ",
		"--from none.json":          "none.json: no such file or directory",
		"delta --save bench.go/x":   "--save bench.go/x: ",
	} {
		err := runBench(context.Background(), fresh(), strings.Fields(line))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
}

// TestPresets: a preset is the shape of published tables, and what is given
// overrides it.
func TestPresets(t *testing.T) {
	q, err := readBench([]string{"delta", "filter", "preset=b16t2048", "D=64"})
	if err != nil {
		t.Fatal(err)
	}
	o := q.benches[0].values
	if o.Int("B") != 16 || o.Word("T") != "2048" || o.Int("H") != 16 || o.Int("D") != 64 || o.Word("dtype") != "bfloat16" {
		t.Errorf("delta: %v", o)
	}
	if o = q.benches[1].values; o.Int("B") != 16 || o.Int("M") != 1024 || o.Int("S") != 16 || o.Word("dtype") != "float32" {
		t.Errorf("filter: %v", o)
	}
}
