package lab

import (
	"testing"

	"github.com/kalmarz/kalmarz/layers/check"
)

// onPureGo skips a test of what does not depend on the backend where graphs are
// compiled.
func onPureGo(t *testing.T) {
	t.Helper()
	if check.Compiled() {
		t.Skip("on pure Go alone: nothing here depends on the backend")
	}
}
