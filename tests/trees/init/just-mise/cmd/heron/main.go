package main

import (
	"fmt"

	"example.org/heron/internal/wade"
)

var version = "dev"

func main() {
	fmt.Println(version, wade.Count([]string{"heron", "egret"}))
}
