package store

import "testing"

func TestState(t *testing.T) {
	if Open.String() != "Open" {
		t.Fatal("open")
	}
}
