//go:build !(goexperiment.simd && linux && amd64)

package backend

const needsFMAOff = false

func restart([]string) error { return nil }
