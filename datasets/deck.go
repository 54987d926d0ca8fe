package datasets

import "math/rand/v2"

// deck draws distinct ids of [lo, lo+n) by a partial shuffle that is undone
// afterwards, so that what it draws never depends on what it drew before.
type deck struct {
	lo    int32
	cards []int32 // cards[i] is the id at place i
	place []int32 // place[id-lo] is where it is
	swaps []int32
}

func newDeck(lo, hi int) *deck {
	d := &deck{lo: int32(lo), cards: make([]int32, hi-lo), place: make([]int32, hi-lo)}
	for i := range d.cards {
		d.cards[i], d.place[i] = int32(lo+i), int32(i)
	}
	return d
}

// draw returns k distinct ids in random order, valid until restore.
func (d *deck) draw(r *rand.Rand, k int) []int32 {
	d.swaps = d.swaps[:0]
	for i := range k {
		j := i + int(r.Int32N(int32(len(d.cards)-i)))
		d.swap(i, j)
		d.swaps = append(d.swaps, int32(j))
	}
	return d.cards[:k]
}

// has tells whether id is among the first k drawn.
func (d *deck) has(id int32, k int) bool {
	i := int(id - d.lo)
	return i >= 0 && i < len(d.place) && int(d.place[i]) < k
}

// restore undoes a draw of k.
func (d *deck) restore(k int) {
	for i := k - 1; i >= 0; i-- {
		d.swap(i, int(d.swaps[i]))
	}
}

func (d *deck) swap(i, j int) {
	a, b := d.cards[i], d.cards[j]
	d.cards[i], d.cards[j] = b, a
	d.place[a-d.lo], d.place[b-d.lo] = int32(j), int32(i)
}
