// Package store keeps what was seen.
package store

//go:generate stringer -type=State

// State is that of a store.
type State int

// The states.
const (
	Open State = iota
	Closed
)
