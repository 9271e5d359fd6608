package wing

import "testing"

func TestSpan(t *testing.T) {
	if got := Span(2); got != 140 {
		t.Fatalf("got %d", got)
	}
}
