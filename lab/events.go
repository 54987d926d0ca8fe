package lab

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// eventsName is the file of scalars that TensorBoard finds in a run's folder.
const eventsName = "events.out.tfevents.0.kalmarz"

// writeEvents makes the events file of a run from its metrics.jsonl and record, so
// that a run that was resumed has the same bytes as one that was not. For that the
// clock of an event is its step, in seconds.
func writeEvents(dir string, r *Record) error {
	metrics, err := recoverMetrics(filepath.Join(dir, "metrics.jsonl"), func(string) {})
	if err != nil || len(metrics) == 0 {
		return err
	}
	return writeFile(filepath.Join(dir, eventsName), encodeEvents(metrics, r))
}

// scalar is one number of a step.
type scalar struct {
	tag   string
	value Number
}

// encodeEvents is a sequence of TFRecords, each an Event of tensorflow/core/util/event.proto:
// the version, then a step's scalars, and after the last step the evaluations.
func encodeEvents(metrics []Metric, r *Record) []byte {
	version := protowire.AppendTag(eventAt(0), 3, protowire.BytesType)
	out := appendRecord(nil, protowire.AppendString(version, "brain.Event:2"))
	last := 0
	for _, m := range metrics {
		last = m.Step
		step := []scalar{{"train/loss", m.Loss}, {"train/grad_norm", m.GradNorm}, {"train/lr", m.LR}}
		for _, name := range slices.Sorted(maps.Keys(m.Updates)) {
			step = append(step, scalar{"train/update_rms/" + name, m.Updates[name]})
		}
		out = appendRecord(out, encodeScalars(m.Step, step))
	}
	var evals []scalar
	if v := r.Validation; v != nil {
		evals = append(evals, scalar{"validation/accuracy", v.Micro}, scalar{"validation/loss", v.Loss})
	}
	for _, e := range r.Evals {
		if e.Note != "" {
			continue
		}
		at := fmt.Sprintf("%dx", e.Factor)
		if e.Mode != "" {
			at = e.Mode + "/" + at
		}
		evals = append(evals, scalar{"test/accuracy/" + at, e.Micro}, scalar{"test/loss/" + at, e.Loss})
		if e.Tokens != "" {
			evals = append(evals, scalar{"test/bits_per_byte/" + at, e.BitsPerByte})
		}
	}
	if len(evals) > 0 {
		out = appendRecord(out, encodeScalars(last, evals))
	}
	return out
}

// eventAt begins an Event: wall_time = 1, a double, and step = 2.
func eventAt(step int) []byte {
	b := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(float64(step)))
	b = protowire.AppendTag(b, 2, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(step))
}

// encodeScalars is an Event with summary = 5, whose values = 1 have tag = 1 and
// simple_value = 2, a float.
func encodeScalars(step int, scalars []scalar) []byte {
	var summary []byte
	for _, s := range scalars {
		value := protowire.AppendTag(nil, 1, protowire.BytesType)
		value = protowire.AppendString(value, s.tag)
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.value)))
		summary = protowire.AppendTag(summary, 1, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	event := protowire.AppendTag(eventAt(step), 5, protowire.BytesType)
	return protowire.AppendBytes(event, summary)
}

// appendRecord adds a TFRecord: length, its checksum, data, their checksum.
func appendRecord(b, data []byte) []byte {
	from := len(b)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b[from:]))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, maskedCRC(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is CRC-32C, turned by 15 bits and moved, so that a checksum of bytes
// that hold one is no special case.
func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
