//go:build !linux

package lab

func beginPeak() func() Memory { return goMemory }
