package sum

import "testing"

func TestSum(t *testing.T) {
	if Sum(2, 2) != 4 {
		t.Fatal("2 and 2 make 4")
	}
}
