// Package golden compares the mixers' recurrences with reference values kept in
// an npz archive. Its keys are MIXER/CASE/ARRAY; the arrays of a case are
//
//	in_X    input X
//	out_Y   expected output Y
//	w_Y     fixed weights of Y in the loss Σ_Y Σ out_Y∘w_Y
//	grad_X  expected gradient of that loss with respect to X
//
// with sequences [B,T,H,·], gates [B,T,H] and states [B,H,K,V]; queries are
// given unscaled. Families kalman, the bare filter, and kalman_layer, whole layers
// with their parameters, have arrays of their own.
package golden

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/sbinet/npyio/npy"

	"github.com/kalmarz/kalmarz/layers/check"
)

// Archive is the content of one npz file, in the file's order.
type Archive struct {
	Name  string // for messages
	Cases []*Case
}

// Case is one case: its arrays by name.
type Case struct {
	Family, Name string
	Arrays       map[string]check.Array
}

// Read reads an npz archive of size bytes whole; name opens every error. Arrays
// are float32 or float64, of any rank and in either order of axes.
func Read(name string, r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: not an npz archive: %w", name, err)
	}
	a := &Archive{Name: name}
	cases := map[string]*Case{}
	for _, f := range z.File {
		key, ok := strings.CutSuffix(f.Name, ".npy")
		parts := strings.Split(key, "/")
		if !ok || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
			return nil, fmt.Errorf("%s: key %q: expected MIXER/CASE/ARRAY.npy", name, f.Name)
		}
		c := cases[parts[0]+"/"+parts[1]]
		if c == nil {
			c = &Case{Family: parts[0], Name: parts[1], Arrays: map[string]check.Array{}}
			cases[parts[0]+"/"+parts[1]] = c
			a.Cases = append(a.Cases, c)
		}
		if _, twice := c.Arrays[parts[2]]; twice {
			return nil, fmt.Errorf("%s: key %q is there twice", name, key)
		}
		if c.Arrays[parts[2]], err = readArray(f); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", name, key, err)
		}
	}
	if len(a.Cases) == 0 {
		return nil, fmt.Errorf("%s: the archive is empty", name)
	}
	return a, nil
}

// readArray decodes one member. It reads all bytes first, which also verifies
// their checksum; the npy package panics on some malformed headers.
func readArray(f *zip.File) (a check.Array, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("not an npy array: %v", x)
		}
	}()
	member, err := f.Open()
	if err != nil {
		return a, err
	}
	defer member.Close()
	data, err := io.ReadAll(member)
	if err != nil {
		return a, err
	}
	rest := bytes.NewReader(data)
	r, err := npy.NewReader(rest)
	if err != nil {
		return a, fmt.Errorf("not an npy array: %w", err)
	}
	a.Dims = append([]int{}, r.Header.Descr.Shape...)
	width := map[string]int{"<f4": 4, ">f4": 4, "<f8": 8, ">f8": 8}[r.Header.Descr.Type]
	if width == 0 {
		return a, fmt.Errorf("type %q: expected float32 or float64", r.Header.Descr.Type)
	}
	// The size is checked before anything of the header's size is allocated.
	n := 1
	for _, d := range a.Dims {
		n *= max(d, 0)
		if n > rest.Len() {
			break
		}
	}
	if n*width != rest.Len() || n == 0 {
		return a, fmt.Errorf("shape %v does not fit %d bytes of %s", a.Dims, rest.Len(), r.Header.Descr.Type)
	}
	if a.Values, err = values(r, n, width); err == nil && r.Header.Descr.Fortran {
		a.Values = rowMajor(a.Values, a.Dims)
	}
	return a, err
}

func values(r *npy.Reader, n, width int) ([]float64, error) {
	wide := make([]float64, n)
	if width == 8 {
		return wide, r.Read(&wide)
	}
	narrow := make([]float32, n)
	if err := r.Read(&narrow); err != nil {
		return nil, err
	}
	for i, v := range narrow {
		wide[i] = float64(v)
	}
	return wide, nil
}

// rowMajor reorders values whose first axis varies fastest.
func rowMajor(columns []float64, dims []int) []float64 {
	rows := make([]float64, len(columns))
	place := make([]int, len(dims))
	for _, v := range columns {
		at := 0
		for axis, i := range place {
			at = at*dims[axis] + i
		}
		rows[at] = v
		for axis := range place {
			if place[axis]++; place[axis] < dims[axis] {
				break
			}
			place[axis] = 0
		}
	}
	return rows
}
