package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kalmarz/kalmarz/lab/backend"
)

// What takes less of a device's memory.
const (
	lessTraining = "take batch= smaller, accumulate=N, shorter rows or precision=bf16"
	lessScoring  = "take shorter lengths=, or score with --max-tokens N"
	lessReading  = "give a shorter prompt"
	lessTiming   = "take smaller sizes, or dtype=bfloat16"
)

// memoryError says that a device has no memory left.
type memoryError struct{ text string }

func (e *memoryError) Error() string { return e.text }

// explain is an error of a graph in one line; where the device's memory is full,
// less says what takes less of it.
func explain(err error, less string) error {
	if says, full := backend.OutOfMemory(err); full {
		return &memoryError{says + "; " + less}
	}
	return oneLine(err)
}

// noMemory tells whether explain found the device's memory full.
func noMemory(err error) bool {
	var m *memoryError
	return errors.As(err, &m)
}

// oneLine drops what GoMLX and PJRT wrap an error in, and the stack that GoMLX
// prints into it.
func oneLine(err error) error { return errors.New(backend.Reason(err)) }

// shortReason is an error in one line that fits under a table.
func shortReason(err error) string {
	text, _, _ := strings.Cut(explain(err, lessTiming).Error(), "\n")
	if r := []rune(text); len(r) > 160 {
		text = string(r[:157]) + "..."
	}
	return text
}

// safely is f with its panics as errors.
func safely(f func() error) (err error) {
	defer caught(&err)
	return f()
}

// caught turns a panic into an error of one line. It is deferred.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = explain(fmt.Errorf("%v", r), lessTraining)
	}
}
