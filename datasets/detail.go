package datasets

import (
	"fmt"
	"math/bits"
)

// positions sorts by where a row is scored: 1, 2, 3-4, 5-8, ... and the last.
func positions(length int) Detail {
	bins := powerBins(length - 1)
	last := int32(len(bins))
	return Detail{"position", append(bins, "last"), func(b Batch) []int32 {
		bin := make([]int32, b.Rows*b.T)
		for i := range bin {
			if bin[i] = last; i%b.T != b.T-1 {
				bin[i] = powerBin(i%b.T + 1)
			}
		}
		return bin
	}}
}

// powerBins names the bins 1, 2, 3-4, 5-8, ... up to the one that holds n. A name
// does not depend on n, so that rows of several lengths have bins in common.
func powerBins(n int) []string {
	var names []string
	for lo, hi := 1, 1; lo <= n; lo, hi = hi+1, 2*hi {
		name := fmt.Sprint(lo)
		if hi > lo {
			name = fmt.Sprintf("%d-%d", lo, hi)
		}
		names = append(names, name)
	}
	return names
}

// powerBin is the index of the bin of n >= 1.
func powerBin(n int) int32 { return int32(bits.Len(uint(n - 1))) }
