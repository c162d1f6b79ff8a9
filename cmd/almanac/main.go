// Command almanac runs Almanac, a durable job scheduler: everything in one process (dev, server), its two halves
// (api, worker), a client of its API (job, context), and tools (setup, backup, restore, preview, codec).
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/start"
)

func main() {
	start.Done()
	log.SetOutput(withoutAnswers{os.Stderr})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first Ctrl-C restores the default handling of signals, so a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr); err != nil {
		if text := err.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "almanac:", output.Clean(text))
		}
		os.Exit(exit.Status(err))
	}
}

// withoutAnswers is the output of the standard library's log. It leaves out what package net/http writes there of a
// host that sends more than its answer: the bytes themselves, which may have secrets of a request.
type withoutAnswers struct{ to io.Writer }

// Write implements [io.Writer].
func (w withoutAnswers) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("Unsolicited response received on idle HTTP channel")) {
		return len(line), nil
	}
	return w.to.Write(line)
}

// run is main without its global variables.
func run(ctx context.Context, args []string, getenv settings.Lookup, stdin io.Reader, stdout, stderr io.Writer) error {
	root := rootFor(args, getenv)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	refuseUnknownTopics(root)
	cmd, err := root.ExecuteContextC(ctx)
	return explain(cmd, args, err)
}
