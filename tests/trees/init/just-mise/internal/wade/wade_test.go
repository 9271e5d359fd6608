package wade

import "testing"

func TestCount(t *testing.T) {
	if Count([]string{"heron"}) != 1 {
		t.Fatal("one heron")
	}
}
