// Package datasets makes the tasks on which sequence mixers are compared:
// synthetic tasks with a known rule, and text. It knows no models.
//
// Every batch is a pure function of (split, seed, index, rows): it can be made
// again without making those before it, and gives the same bytes each time.
// Rows of different splits never coincide, whatever their seeds.
package datasets

import (
	"fmt"

	"github.com/kalmarz/kalmarz/layers/option"
)

// Split names a part of the data.
type Split uint8

// The three parts. Train may be scored more densely than the other two; those
// two are scored alike.
const (
	Train Split = iota
	Validation
	Test
)

// Splits lists the parts in order.
var Splits = []Split{Train, Validation, Test}

func (s Split) String() string {
	if int(s) < len(Splits) {
		return [...]string{"train", "validation", "test"}[s]
	}
	return fmt.Sprintf("Split(%d)", uint8(s))
}

// Batch holds rows row-major, each slice [Rows, T]. Mask is 1 at scored
// positions and 0 elsewhere; targets that are not scored are 0, which may be a
// class like any other, so only Mask tells what counts.
type Batch struct {
	Rows, T         int
	Inputs, Targets []int32
	Mask            []float32
	Extra           *Batch // rows whose mean loss is added to that of these, or nil
}

// Row returns views of one row.
func (b Batch) Row(i int) (inputs, targets []int32, mask []float32) {
	lo, hi := i*b.T, (i+1)*b.T
	return b.Inputs[lo:hi], b.Targets[lo:hi], b.Mask[lo:hi]
}

// Info says what a task is.
type Info struct {
	Name    string
	Vocab   int     // input ids are in [0, Vocab)
	Classes int     // targets are in [0, Classes)
	T       int     // positions of a row; of the longest row where batches differ
	Scored  float64 // mean scored positions of a test row
	// Chance is the micro accuracy that the best guess not looking at the
	// tokens of a row is expected to reach on rows scored as in testing.
	Chance float64
	// Aligned tells that the target at position t is an answer to be given at
	// t; otherwise the row is a language and the target is the token at t+1.
	Aligned bool
	// FromLast tells that every position is to be answered from what a model
	// holds at the last one, through a decoder.
	FromLast bool
	// Unmasked tells that training rows are scored at every position, also
	// where no rule gives the answer.
	Unmasked bool
	// Mixed tells that batches differ in T and difficulty: the index of a batch
	// decides which of several settings its rows have.
	Mixed bool
	// Pool is the number of distinct rows of each split where they are fixed,
	// and 0 where rows are endless. Training rows of a pool come in a new order
	// every epoch, the others always in the same.
	Pool   [3]int
	Values option.Values // the options it was made with
}

// Task is one setting of a kind of task. It is safe for concurrent use.
type Task interface {
	Info() Info
	// Batch makes rows index*rows ... index*rows+rows-1 of a split.
	Batch(split Split, seed uint64, index, rows int) (Batch, error)
	// Oracle answers [Rows*T] by the rule of the task, from Inputs and Mask
	// only. It is right at every scored position of a test row. A language
	// without a rule has no oracle: nil.
	Oracle(b Batch) []int32
	// Lengths lists the modes in which Longer can lengthen the task.
	Lengths() []string
	// Longer is the same task at factor times its length.
	Longer(factor int, mode string) (Task, error)
	// Token and Class give an input id and a target id a readable name.
	Token(id int32) string
	Class(id int32) string
	// Details are the properties by which accuracy is worth showing apart.
	Details() []Detail
}

// Detail sorts scored positions into named bins, as by depth of a needle.
type Detail struct {
	Name string
	Bins []string
	Bin  func(b Batch) []int32 // [Rows*T]: a bin at each position, -1 for none
}

// Only returns the batch with the mask restricted to one bin of a detail.
func (d Detail) Only(b Batch, bin int32) Batch {
	mask := make([]float32, len(b.Mask))
	for i, x := range d.Bin(b) {
		if x == bin {
			mask[i] = b.Mask[i]
		}
	}
	b.Mask = mask
	return b
}

// impossible is the error of a setting whose options do not fit together.
func impossible(task, name string, value any, format string, args ...any) error {
	return fmt.Errorf("task %s: %s = %s: %s", task, name, option.Format(value), fmt.Sprintf(format, args...))
}
