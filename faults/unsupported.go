//go:build !linux

// Command faults needs Linux: it stops processes and limits their files.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "faults: only Linux is supported, for its signals and limits")
	os.Exit(1)
}
