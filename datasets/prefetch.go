package datasets

import "sync"

// Prefetch makes the batches first, first+1, ... of a split ahead of time, by
// several workers and at most ahead of them at once. Their order and bytes do
// not depend on how many workers there are. Close it when done.
type Prefetch struct {
	queue chan chan made
	stop  chan struct{}
	work  sync.WaitGroup
	once  sync.Once
}

type made struct {
	batch Batch
	err   error
}

// NewPrefetch starts the workers.
func NewPrefetch(t Task, split Split, seed uint64, first, rows, workers, ahead int) *Prefetch {
	p := &Prefetch{queue: make(chan chan made, max(1, ahead)), stop: make(chan struct{})}
	type job struct {
		index int
		out   chan made
	}
	jobs := make(chan job)
	for range max(1, workers) {
		p.work.Go(func() {
			for j := range jobs {
				b, err := t.Batch(split, seed, j.index, rows)
				j.out <- made{b, err}
			}
		})
	}
	p.work.Go(func() {
		defer close(jobs)
		for index := first; ; index++ {
			out := make(chan made, 1)
			select {
			case p.queue <- out:
			case <-p.stop:
				return
			}
			select {
			case jobs <- job{index, out}:
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// Next returns the next batch in order.
func (p *Prefetch) Next() (Batch, error) {
	m := <-<-p.queue
	return m.batch, m.err
}

// Close stops the workers and waits for them. Next must not be called after it.
func (p *Prefetch) Close() {
	p.once.Do(func() { close(p.stop) })
	p.work.Wait()
}
