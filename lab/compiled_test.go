package lab

import (
	"testing"

	"github.com/kalmarz/kalmarz/layers/check"
)

// compiled tells that graphs are compiled, seconds each: tests then run fewer.
func compiled() bool { return check.Backend().Name() != "Go Backend" }

// onPureGo skips a test of what does not depend on the backend where graphs are
// compiled.
func onPureGo(t *testing.T) {
	t.Helper()
	if compiled() {
		t.Skip("on pure Go alone: nothing here depends on the backend")
	}
}
