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

// array is float32 values of a shape under a name.
type array struct {
	name   string
	dims   []int
	values []float32
}

// tensorEntry is an array in the header of a safetensors file.
type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// encodeTensors makes a safetensors file: a little-endian length, a JSON header
// with each array's type, shape and place, and the float32 values. The metadata
// get the values' digest, by which a torn file is told from a whole one. The
// same arrays give the same bytes.
func encodeTensors(metadata map[string]string, arrays []array) ([]byte, error) {
	header := map[string]any{}
	var data []byte
	for _, a := range arrays {
		from := len(data)
		for _, v := range a.values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		if _, twice := header[a.name]; twice {
			return nil, fmt.Errorf("two arrays are named %s", a.name)
		}
		header[a.name] = tensorEntry{"F32", append([]int{}, a.dims...), [2]int{from, len(data)}}
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

// decodeTensors reads a safetensors file of float32 arrays. A file that was cut
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
		if e.DType != "F32" || lo < 0 || hi < lo || hi > len(data) || (hi-lo)%4 != 0 {
			return nil, nil, fmt.Errorf("%s: %s at %d..%d of %d bytes: torn or not float32", name, e.DType, lo, hi, len(data))
		}
		values := make([]float32, (hi-lo)/4)
		if _, err := binary.Decode(data[lo:hi], binary.LittleEndian, values); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		arrays[name] = array{name, e.Shape, values}
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
