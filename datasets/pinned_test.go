package datasets

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
)

// The bytes of a seed are part of what a run means: they stay the same on every
// machine and from version to version. Who changes a generator on purpose
// changes its line here too.
var pinned = map[string]string{
	"mqar":                    "1547bac5701f1c1b",
	"mqar-mix":                "62546a06ab38a0ec",
	"mqar-kimi":               "cde0db05e74f717d",
	"recall":                  "b26303a6708132a6",
	"noisy-recall":            "d075b804e0bdb8fe",
	"fuzzy-recall":            "adced1223b67ccb4",
	"selective-copy":          "4a9c46cfc21b04b5",
	"compression":             "1f5e894e2cc57c45",
	"memorization":            "ce33eed2bcb86cb4",
	"words":                   "69fdd9c7781c73c5",
	"stack":                   "a702c327b505de8a",
	"palindrome":              "4e11b12531983c86",
	"niah":                    "f3296e2f60f53c4d",
	"parity":                  "d28252658660a525",
	"even-pairs":              "aafb91d9ea60c825",
	"cycle-nav":               "2be45d1feae83b16",
	"mod-arithmetic":          "e8a843efe1ac8156",
	"mod-arithmetic-brackets": "ae2b322763658460",
	"text":                    "be00027351d25319",
}

func TestBytesOfASeed(t *testing.T) {
	for _, k := range Registry {
		task := open(t, k.Name, "")
		hash := fnv.New64a()
		for _, split := range Splits {
			b := batch(t, task, split, 1, 2, 8)
			for _, x := range []any{b.Inputs, b.Targets, b.Mask} {
				if err := binary.Write(hash, binary.LittleEndian, x); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := fmt.Sprintf("%016x", hash.Sum64()); got != pinned[k.Name] {
			t.Errorf("\t%q: %q,", k.Name, got)
		}
	}
}
