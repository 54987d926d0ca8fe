package lab

import "testing"

func TestScanMixersAreMixers(t *testing.T) {
	for _, name := range scanMixers {
		if _, err := findMixer(name); err != nil {
			t.Error(err)
		}
	}
}
