// Package sum adds.
package sum

// Sum is the sum of two numbers.
func Sum(a, b int) int {
	return a + b
}
