package main

import (
	"fmt"

	"example.com/heron/internal/store"
)

func main() {
	fmt.Println(store.Open)
}
