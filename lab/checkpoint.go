package lab

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/kalmarz/kalmarz/layers/param"
)

// A checkpoint is a safetensors file: a little-endian length, a JSON header
// with each array's type, shape and place, and the float32 values.

// tensorEntry is an array in the header.
type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// saveWeights writes the parameters, after checking that all are finite: a
// checkpoint that cannot be used must not replace one that can.
func saveWeights(path string, set *param.Set, step int) error {
	header := map[string]any{"__metadata__": map[string]string{"step": fmt.Sprint(step), "seed": fmt.Sprint(set.Seed)}}
	var data bytes.Buffer
	for _, e := range set.Entries() {
		t, err := e.Variable().Value()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		values := tensors.MustCopyFlatData[float32](t)
		for i, v := range values {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("%s: not saved: %s[%d] is %v", path, e.Name, i, v)
			}
		}
		from := data.Len()
		if err := binary.Write(&data, binary.LittleEndian, values); err != nil {
			return err
		}
		header[strings.ReplaceAll(e.Name, "/", ".")] = tensorEntry{"F32", append([]int{}, e.Dims...), [2]int{from, data.Len()}}
	}
	h, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(h)%8 != 0 {
		h = append(h, ' ')
	}
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, uint64(len(h))); err != nil {
		return err
	}
	file.Write(h)
	file.Write(data.Bytes())
	return writeFile(path, file.Bytes())
}

// Weights are the arrays of a checkpoint by name.
type Weights map[string][]float32

// ReadWeights reads a checkpoint and the step at which it was written.
func ReadWeights(path string) (w Weights, step int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if len(b) < 8 || uint64(len(b)-8) < binary.LittleEndian.Uint64(b) {
		return nil, 0, fmt.Errorf("%s: %d bytes: too short for a safetensors file", path, len(b))
	}
	n := int(binary.LittleEndian.Uint64(b))
	var header map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		return nil, 0, fmt.Errorf("%s: header: %w", path, err)
	}
	data := b[8+n:]
	w = Weights{}
	for name, raw := range header {
		if name == "__metadata__" {
			var m map[string]string
			if err := json.Unmarshal(raw, &m); err != nil {
				return nil, 0, fmt.Errorf("%s: metadata: %w", path, err)
			}
			if _, err := fmt.Sscan(m["step"], &step); err != nil {
				return nil, 0, fmt.Errorf("%s: metadata: step = %q: %w", path, m["step"], err)
			}
			continue
		}
		var e tensorEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, 0, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		lo, hi := e.Offsets[0], e.Offsets[1]
		if e.DType != "F32" || lo < 0 || hi < lo || hi > len(data) || (hi-lo)%4 != 0 {
			return nil, 0, fmt.Errorf("%s: %s: %s at %d..%d of %d bytes: torn or not float32", path, name, e.DType, lo, hi, len(data))
		}
		values := make([]float32, (hi-lo)/4)
		if err := binary.Read(bytes.NewReader(data[lo:hi]), binary.LittleEndian, values); err != nil {
			return nil, 0, err
		}
		w[name] = values
	}
	return w, step, nil
}
