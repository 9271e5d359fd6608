// Package wade counts birds.
package wade

// Count returns how many birds there are.
func Count(birds []string) int { return len(birds) }
