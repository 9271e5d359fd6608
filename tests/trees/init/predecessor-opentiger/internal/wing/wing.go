// Package wing knows how far a gull reaches.
package wing

// Span is the span in centimetres at an age in years.
func Span(age int) int { return min(140, 60+40*age) }
