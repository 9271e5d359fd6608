package main

import (
	"fmt"

	"example.org/gull/internal/wing"
)

func main() { fmt.Println(wing.Span(2)) }
