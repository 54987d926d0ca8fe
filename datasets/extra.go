package datasets

// WithExtra adds to each training batch of a task that many rows of another,
// whose vocabulary must be the same. Words of two letters beside long ones, for
// one, show a model the table of a group.
func WithExtra(t, other Task, rows int) Task { return extra{t, other, rows} }

type extra struct {
	Task
	other Task
	rows  int
}

func (e extra) Batch(split Split, seed uint64, index, rows int) (Batch, error) {
	b, err := e.Task.Batch(split, seed, index, rows)
	if err != nil || split != Train {
		return b, err
	}
	other, err := e.other.Batch(split, seed, index, e.rows)
	b.Extra = &other
	return b, err
}
