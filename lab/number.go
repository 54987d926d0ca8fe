package lab

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a float64 that survives JSON: NaN and the infinities, which JSON
// has no numbers for, are written as the strings "NaN", "+Inf" and "-Inf".
type Number float64

// MarshalJSON writes a number or one of the three strings.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 0):
		return fmt.Appendf(nil, "%q", fmt.Sprintf("%+v", f)), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"NaN"`:
		*n = Number(math.NaN())
	case `"+Inf"`:
		*n = Number(math.Inf(1))
	case `"-Inf"`:
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}
