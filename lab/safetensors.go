package lab

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// tensorEntry is an array in the header of a safetensors file.
type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// encodeTensors makes a safetensors file: a little-endian length, a JSON header
// with each array's type, shape and place, and the values. The metadata
// get the values' digest, by which a torn file is told from a whole one. The
// same arrays give the same bytes.
func encodeTensors(metadata map[string]string, arrays []array) ([]byte, error) {
	header := map[string]any{}
	var data []byte
	for _, a := range arrays {
		from := len(data)
		dtype := "F32"
		for _, v := range a.values {
			if a.double {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
			} else {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
			}
		}
		if a.double {
			dtype = "F64"
		}
		if _, twice := header[a.name]; twice {
			return nil, fmt.Errorf("two arrays are named %s", a.name)
		}
		header[a.name] = tensorEntry{dtype, append([]int{}, a.dims...), [2]int{from, len(data)}}
	}
	metadata = maps.Clone(metadata)
	metadata["sha256"] = digest(data)
	header["__metadata__"] = metadata
	h, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	for len(h)%8 != 0 {
		h = append(h, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	return slices.Concat(file, h, data), nil
}

// decodeTensors reads a safetensors file of float32 and float64 arrays. A file that was cut
// short or changed is an error.
func decodeTensors(file []byte) (metadata map[string]string, arrays map[string]array, err error) {
	if len(file) < 8 || uint64(len(file)-8) < binary.LittleEndian.Uint64(file) {
		return nil, nil, fmt.Errorf("%d bytes: too short for a safetensors file", len(file))
	}
	n := int(binary.LittleEndian.Uint64(file))
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	data := file[8+n:]
	arrays = map[string]array{}
	for name, raw := range header {
		if name == "__metadata__" {
			if err := json.Unmarshal(raw, &metadata); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var e tensorEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		lo, hi := e.Offsets[0], e.Offsets[1]
		size := map[string]int{"F32": 4, "F64": 8}[e.DType]
		if size == 0 || lo < 0 || hi < lo || hi > len(data) || (hi-lo)%size != 0 {
			return nil, nil, fmt.Errorf("%s: %s at %d..%d of %d bytes: torn or neither float32 nor float64", name, e.DType, lo, hi, len(data))
		}
		a := array{name, e.Shape, size == 8, make([]float64, (hi-lo)/size)}
		for i := range a.values {
			if at := data[lo+i*size:]; a.double {
				a.values[i] = math.Float64frombits(binary.LittleEndian.Uint64(at))
			} else {
				a.values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			}
		}
		arrays[name] = a
	}
	if want, ok := metadata["sha256"]; ok && want != digest(data) {
		return nil, nil, fmt.Errorf("the values are not those that were written (%s, not %s)", short8(digest(data)), short8(want))
	}
	return metadata, arrays, nil
}

// digest is the SHA-256 of what is given, in hexadecimal.
func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// short8 shortens a digest for people.
func short8(digest string) string {
	if len(digest) > 8 {
		return digest[:8]
	}
	return digest
}
