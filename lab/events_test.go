package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crc32c is the checksum bit by bit: polynomial 0x1EDC6F41, reflected.
func crc32c(b []byte) uint32 {
	c := ^uint32(0)
	for _, x := range b {
		c ^= uint32(x)
		for range 8 {
			c = c>>1 ^ 0x82f63b78*(c&1)
		}
	}
	return ^c
}

// field is one field of a message on the wire.
type field struct {
	number uint64
	value  uint64
	bytes  []byte
}

// fields reads a message by the wire format's own rules.
func fields(t *testing.T, b []byte) (out []field) {
	t.Helper()
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		f := field{number: key >> 3}
		switch key & 7 {
		case 0:
			f.value, n = binary.Uvarint(b)
		case 1:
			f.value, n = binary.LittleEndian.Uint64(b), 8
		case 2:
			size, m := binary.Uvarint(b)
			n = m + int(size)
			f.bytes = b[m:n]
		case 5:
			f.value, n = uint64(binary.LittleEndian.Uint32(b)), 4
		default:
			t.Fatalf("wire type %d", key&7)
		}
		out, b = append(out, f), b[n:]
	}
	return out
}

// readEvents decodes an events file to lines "step tag value", and the version.
func readEvents(t *testing.T, b []byte) (version string, lines []string) {
	t.Helper()
	for len(b) > 0 {
		n := binary.LittleEndian.Uint64(b)
		data := b[12 : 12+n]
		for i, part := range [][]byte{b[:8], data} {
			sum := crc32c(part)
			want := sum>>15 | sum<<17
			want += 0xa282ead8
			if got := binary.LittleEndian.Uint32(b[[]uint64{8, 12 + n}[i]:]); got != want {
				t.Fatalf("checksum %x, want %x", got, want)
			}
		}
		step, clock := uint64(0), 0.0
		for _, f := range fields(t, data) {
			switch f.number {
			case 1:
				clock = math.Float64frombits(f.value)
			case 2:
				step = f.value
			case 3:
				version = string(f.bytes)
			case 5:
				for _, v := range fields(t, f.bytes) {
					value := fields(t, v.bytes)
					lines = append(lines, fmt.Sprintf("%d %s %v", step, value[0].bytes, math.Float32frombits(uint32(value[1].value))))
				}
			}
		}
		if clock != float64(step) {
			t.Errorf("clock %v at step %d", clock, step)
		}
		b = b[16+n:]
	}
	return version, lines
}

// TestEvents: the file holds every step's numbers and the evaluations, and is the
// same for a run that was stopped and resumed.
func TestEvents(t *testing.T) {
	s, whole := session(), t.TempDir()
	r, err := s.run(t.Context(), parse(t, resumable), 1, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(whole, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := ReadMetrics(filepath.Join(whole, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range metrics {
		step := []scalar{{"train/loss", m.Loss}, {"train/grad_norm", m.GradNorm}, {"train/lr", m.LR}}
		for name, x := range m.Updates { // one optimiser
			step = append(step, scalar{"train/update_rms/" + name, x})
		}
		for _, x := range step {
			want = append(want, fmt.Sprintf("%d %s %v", m.Step, x.tag, float32(x.value)))
		}
	}
	add := func(tag string, x Number) { want = append(want, fmt.Sprintf("10 %s %v", tag, float32(x))) }
	add("validation/accuracy", r.Validation.Micro)
	add("validation/loss", r.Validation.Loss)
	for _, e := range r.Evals {
		if e.Note == "" {
			add(fmt.Sprintf("test/accuracy/%s/%dx", e.Mode, e.Factor), e.Micro)
			add(fmt.Sprintf("test/loss/%s/%dx", e.Mode, e.Factor), e.Loss)
		}
	}
	version, got := readEvents(t, file)
	if version != "brain.Event:2" || len(got) < 34 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("version %s, events\n%s\nwant\n%s", version, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	parts := stopAt(t, s, resumable, 5)
	stopped, err := os.ReadFile(filepath.Join(parts, eventsName))
	if err != nil {
		t.Fatal(err)
	}
	if _, lines := readEvents(t, stopped); len(lines) != 5*(3+len(metrics[0].Updates)) {
		t.Errorf("%d events of a run stopped after step 5", len(lines))
	}
	if _, err := s.Resume(t.Context(), parts, nil); err != nil {
		t.Fatal(err)
	}
	if resumed, err := os.ReadFile(filepath.Join(parts, eventsName)); err != nil || !bytes.Equal(resumed, file) {
		t.Errorf("the resumed run has another file (%v)", err)
	}
	odd := encodeEvents([]Metric{{Step: 1, Loss: Number(math.NaN()), Updates: map[string]Number{"muon": 2, "adamw": 1}}}, &Record{})
	want = []string{"1 train/loss NaN", "1 train/grad_norm 0", "1 train/lr 0", "1 train/update_rms/adamw 1", "1 train/update_rms/muon 2"}
	if _, lines := readEvents(t, odd); !slices.Equal(lines, want) {
		t.Errorf("NaN and updates: %v", lines)
	}
}
