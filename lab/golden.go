package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gomlx/compute"

	"github.com/kalmarz/kalmarz/layers/check/golden"
	"github.com/kalmarz/kalmarz/layers/mixer"
)

// goldenTest checks the cases of an archive of published values in every form
// of the recurrence: one row a family and form, with its worst case.
func (s *Session) goldenTest(ctx context.Context, be compute.Backend, path string, kinds []*mixer.Kind, tell func(TestRow)) error {
	archive, err := readArchive(path)
	if err != nil {
		return err
	}
	told := 0
	var skipped []string
	for _, f := range testForms {
		if f.pieces != nil {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		start := time.Now()
		results, others, err := golden.Check(be, archive, kinds, f.form, f.dtype)
		if err != nil {
			return oneLine(err)
		}
		skipped = others
		worst := map[string]*TestRow{}
		var order []string
		for _, r := range results {
			row := worst[r.Family]
			if row == nil {
				first := f.row(r.Family, start, nil)
				row, order = &first, append(order, r.Family)
				row.Pass = true
				worst[r.Family] = row
			}
			if v := Number(r.Output); !(v <= row.Value) {
				row.Value, row.ValueAt = v, r.Case+" "+r.OfOutput
			}
			if g := Number(r.Gradient); !(g <= row.Gradient) {
				row.Gradient, row.GradientAt = g, r.Case+" "+r.OfGradient
			}
			row.Pass = row.Pass && r.Output <= f.value && r.Gradient <= f.gradient
		}
		for _, family := range order {
			tell(*worst[family])
			told++
		}
	}
	if told == 0 {
		return fmt.Errorf("%s: no family of these mixers: it holds %s", path, strings.Join(skipped, ", "))
	}
	if len(skipped) > 0 {
		s.note(fmt.Sprintf("skipped %d families that no mixer here serves: %s", len(skipped), strings.Join(skipped, ", ")))
	}
	return nil
}

func readArchive(path string) (*golden.Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return golden.Read(path, f, st.Size())
}
