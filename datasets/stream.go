package datasets

import (
	"fmt"
	"hash/fnv"
	"math/bits"
)

// row is the number of a row of a batch: counted through, or of its pool, whose
// training rows come in a new order every epoch.
func (info *Info) row(split Split, stream uint64, index, rows, i int) uint64 {
	number, pool := uint64(index)*uint64(rows)+uint64(i), uint64(info.Pool[split])
	switch {
	case pool == 0:
		return number
	case split == Train:
		return permute(number%pool, pool, stream^mix(number/pool))
	}
	return number % pool
}

// streamOf gives every (task, length, split, seed) its own random stream.
func streamOf(info Info, split Split, seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", info.Name, info.T, split)
	return mix(h.Sum64() ^ mix(seed))
}

// splitOf assigns a row to a split by its content alone: 8 in 10 train, 1
// validation, 1 test. A generator draws until the row falls where it should;
// so splits are disjoint exactly, even where a task has so few distinct rows
// that independent streams would meet, and for any seeds.
func splitOf(inputs []int32) Split {
	h := uint64(len(inputs))
	for _, x := range inputs {
		h = (h ^ uint64(uint32(x))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	hi, _ := bits.Mul64(mix(h), 10)
	return [10]Split{8: Validation, 9: Test}[hi]
}

// mix spreads the bits of x (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// permute maps [0, n) one to one onto itself, at random by key: a Feistel
// network on the smallest even number of bits, repeated while outside.
func permute(x, n, key uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	low := uint64(1)<<half - 1
	for {
		l, r := x>>half, x&low
		for round := range uint64(4) {
			l, r = r, l^mix(r^key^round<<56)&low
		}
		if x = l<<half | r; x < n {
			return x
		}
	}
}
