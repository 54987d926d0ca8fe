package lab

import (
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/datasets"
)

// Evaluation is what a trained model reaches at one test length.
type Evaluation struct {
	Mode   string `json:"mode"`   // how the task was lengthened
	Factor int    `json:"factor"` // length / training length
	T      int    `json:"t"`
	Rows   int    `json:"rows"`
	Micro  Number `json:"micro"` // correct scored positions / scored positions
	Macro  Number `json:"macro"` // mean over classes of their recall
	Exact  Number `json:"exact"` // rows that are right throughout
	Chance Number `json:"chance"`
	Loss   Number `json:"loss"` // nats per scored position
	// Of a text: exp of the loss, per token of the named tokenizer, and the loss
	// per byte, separators included, which any tokenizer's can be compared with.
	Perplexity  Number   `json:"perplexity,omitempty"`
	Tokens      string   `json:"tokens,omitempty"`
	BitsPerByte Number   `json:"bits_per_byte,omitempty"`
	Details     []Detail `json:"details,omitempty"`
	Note        string   `json:"note,omitempty"` // why there is no number
}

// Detail is the accuracy apart by a property of positions, as depth of a needle.
type Detail struct {
	Name string `json:"name"`
	Bins []Bin  `json:"bins"`
}

// Bin holds the positions of one kind.
type Bin struct {
	Name   string `json:"bin"`
	Scored int    `json:"scored"`
	Micro  Number `json:"micro"`
	Loss   Number `json:"loss"` // nats per scored position
}

// evaluate scores the trained model on rows of a split at every length and in every
// mode in which the task can be lengthened. A text is the same at each length,
// cut into fewer and longer windows.
func (t *trainer) evaluate(e *Experiment, split datasets.Split, seed uint64) ([]Evaluation, error) {
	factors, err := e.Lengths()
	if err != nil {
		return nil, err
	}
	modes := e.Task.Lengths()
	if len(modes) == 0 {
		modes, factors = []string{""}, []int{1}
	}
	_, language := e.Task.(*datasets.Text)
	rows := e.evalRows(split)
	var out []Evaluation
	for _, mode := range modes {
		for _, f := range factors {
			task, n := e.Task, rows
			if f > 1 {
				if task, err = e.Task.Longer(f, mode); err != nil {
					out = append(out, Evaluation{Mode: mode, Factor: f, Note: err.Error()})
					continue
				}
			}
			if language {
				n = max(1, rows/f)
			}
			ev, err := t.score(task, split, seed, n)
			if noMemory(err) { // what shorter rows give stays
				out = append(out, Evaluation{Mode: mode, Factor: f, Note: err.Error()})
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("evaluation at %dx: %w", f, err)
			}
			ev.Mode, ev.Factor = mode, f
			out = append(out, ev)
		}
	}
	return out, nil
}

// validate scores the trained model on validation rows at the training length, by
// which settings are chosen; test rows are for what is reported.
func (t *trainer) validate(e *Experiment, seed uint64) (*Evaluation, error) {
	ev, err := t.score(e.Task, datasets.Validation, seed, e.evalRows(datasets.Validation))
	if err != nil {
		return nil, fmt.Errorf("validation: %w", err)
	}
	ev.Factor, ev.Details = 1, nil
	return &ev, nil
}

// evalRows are the rows that an evaluation takes: those asked for, or all there are.
func (e *Experiment) evalRows(split datasets.Split) int {
	rows := e.Int("eval_rows")
	if pool := e.Task.Info().Pool[split]; pool > 0 {
		rows = min(rows, pool)
	}
	return rows
}

// score evaluates a task on rows of a split; the parameters stay as they are.
func (t *trainer) score(task datasets.Task, split datasets.Split, seed uint64, rows int) (Evaluation, error) {
	info := task.Info()
	tally := datasets.NewTally(info.Classes)
	details := newDetailTally(task.Details())
	text, _ := task.(*datasets.Text)
	nats, bytes := 0.0, int64(0)
	each := max(1, min(rows, 4096/info.T)) // rows a call: about as many tokens as a training step
	for done := 0; done < rows; done += each {
		b, err := task.Batch(split, seed, done/each, each)
		if err != nil {
			return Evaluation{}, err
		}
		if over := done + each - rows; over > 0 { // the call keeps its shape
			clear(b.Mask[len(b.Mask)-over*b.T:])
		}
		predictions, nll, err := t.answer(b)
		if err != nil {
			return Evaluation{}, err
		}
		if err := tally.Add(b, predictions); err != nil {
			return Evaluation{}, err
		}
		for i, m := range b.Mask {
			if m != 0 {
				nats += float64(nll[i])
			}
		}
		if text != nil {
			bytes += text.Bytes(b)
		}
		details.add(b, predictions, nll)
	}
	s := tally.Score()
	ev := Evaluation{
		T: info.T, Rows: s.Rows, Chance: Number(info.Chance), Loss: Number(nats / float64(max(1, s.Scored))),
		Micro: Number(s.Micro), Macro: Number(s.Macro), Exact: Number(s.Exact), Details: details.result(),
	}
	if text != nil {
		ev.Perplexity, ev.Tokens = Number(datasets.Perplexity(float64(ev.Loss))), text.Tokenizer().Name()
		ev.BitsPerByte = Number(datasets.BitsPerByte(nats, bytes))
	}
	return ev, nil
}

// answer returns the likeliest class and the target's -ln p, each [Rows*T].
func (t *trainer) answer(b datasets.Batch) (predictions []int32, nll []float32, err error) {
	out, err := t.call(t.predict, lessScoring, ids(b.Inputs, b), ids(b.Targets, b))
	if err != nil {
		return nil, nil, err
	}
	return tensors.MustCopyFlatData[int32](out[0]), tensors.MustCopyFlatData[float32](out[1]), nil
}

// detailTally counts by the bins of a task's details.
type detailTally struct {
	details []datasets.Detail
	bins    [][]count
}

type count struct {
	scored, right int
	nats          float64
}

func newDetailTally(details []datasets.Detail) *detailTally {
	t := &detailTally{details: details}
	for _, d := range details {
		t.bins = append(t.bins, make([]count, len(d.Bins)))
	}
	return t
}

func (t *detailTally) add(b datasets.Batch, predictions []int32, nll []float32) {
	for k, d := range t.details {
		for i, bin := range d.Bin(b) {
			if bin < 0 || b.Mask[i] == 0 {
				continue
			}
			c := &t.bins[k][bin]
			c.scored++
			c.nats += float64(nll[i])
			if predictions[i] == b.Targets[i] {
				c.right++
			}
		}
	}
}

// result leaves out bins in which nothing was scored.
func (t *detailTally) result() []Detail {
	var out []Detail
	for k, d := range t.details {
		detail := Detail{Name: d.Name}
		for i, c := range t.bins[k] {
			if n := float64(c.scored); n > 0 {
				detail.Bins = append(detail.Bins, Bin{d.Bins[i], c.scored, Number(float64(c.right) / n), Number(c.nats / n)})
			}
		}
		out = append(out, detail)
	}
	return out
}
