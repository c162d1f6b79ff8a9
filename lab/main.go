// Command lab measures and disturbs a whole Almanac. README.md says what is in it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"almanac/lab/bench"
	"almanac/lab/faults"
)

const usage = `Usage: go run . COMMAND [flags]   (in the directory lab)

  bench      measure lateness and cost, beside Temporal's Schedules and a bare loop
  faults     inject faults and check what Almanac guarantees
  cluster    run Almanac as on several machines
  temporal   run the embedded Temporal server alone

It needs Linux. COMMAND -h prints the flags of a command.
`

// A command runs until it is done or ctx ends.
type command func(ctx context.Context, args []string, out, progress io.Writer) error

var commands = map[string]command{"bench": bench.Run, "faults": faults.Run, "cluster": runCluster,
	"temporal": runTemporal}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	run, ok := commands[name]
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(ctx, os.Args[2:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
