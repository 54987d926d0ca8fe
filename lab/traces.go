package lab

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npz"
	"gonum.org/v1/gonum/mat"

	"github.com/kalmarz/kalmarz/layers/model"
	"github.com/kalmarz/kalmarz/viz"
)

// traceFigure has a row a quantity; a cell is its mean over heads or channels.
func traceFigure(e *Experiment, traces []model.Trace, tokens []int32) *viz.Figure {
	g := &viz.Grid{}
	for _, id := range tokens {
		g.Cols = append(g.Cols, strconv.Itoa(int(id)))
	}
	for _, tr := range traces {
		g.Rows = append(g.Rows, fmt.Sprintf("%d %s %s", tr.Layer, tr.Mixer, tr.Name))
		var row [][]float64
		for i := range tokens {
			row = append(row, tr.Value[i*tr.Width:][:tr.Width])
		}
		g.Cells = append(g.Cells, row)
	}
	return &viz.Figure{Kind: viz.Tokens, Title: fmt.Sprintf("%s on %s", e.Word("mixer"), e.Word("task")), Grid: g, Samples: "heads or channels"}
}

// traceArrays is an npz archive of tokens [T] and layers.N.QUANTITY [T, width].
func traceArrays(traces []model.Trace, tokens []int32) ([]byte, error) {
	var b bytes.Buffer
	z := npz.NewWriter(&b)
	if err := z.Write("tokens.npy", tokens); err != nil {
		return nil, err
	}
	for _, tr := range traces {
		if err := z.Write(fmt.Sprintf("layers.%d.%s.npy", tr.Layer, strings.ReplaceAll(tr.Name, "/", ".")), mat.NewDense(len(tokens), tr.Width, tr.Value)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// traceTable is a line a value.
func traceTable(traces []model.Trace, tokens []int32) []byte {
	var b bytes.Buffer
	b.WriteString("position,token,layer,mixer,quantity,index,value\n")
	for _, tr := range traces {
		for i, v := range tr.Value {
			t := i / tr.Width
			fmt.Fprintf(&b, "%d,%d,%d,%s,%s,%d,%s\n", t, tokens[t], tr.Layer, tr.Mixer, tr.Name, i%tr.Width, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return b.Bytes()
}

// traceSummary tells how each quantity begins and ends, and its range.
func traceSummary(traces []model.Trace, T int) string {
	t := &table{header: []string{"layer", "mixer", "quantity", "width", "first", "last", "least", "most"}}
	for _, tr := range traces {
		mean := func(x []float64) (m float64) {
			for _, v := range x {
				m += v / float64(len(x))
			}
			return m
		}
		least, most := tr.Value[0], tr.Value[0]
		for _, v := range tr.Value {
			least, most = min(least, v), max(most, v)
		}
		n := func(v float64) string { return fmt.Sprintf("%.3g", v) }
		t.add(strconv.Itoa(tr.Layer), tr.Mixer, tr.Name, strconv.Itoa(tr.Width), n(mean(tr.Value[:tr.Width])), n(mean(tr.Value[(T-1)*tr.Width:])), n(least), n(most))
	}
	return t.text()
}
