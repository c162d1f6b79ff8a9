package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"almanac/devserver"
	"almanac/internal/help"
	"almanac/scheduler"
)

const temporalUsage = `Usage: go run . temporal [flags]   (in the directory lab)

Run the embedded Temporal server alone, for the fault experiments, which stop it
without the workers. It prints its address when it is ready, and ends on Ctrl-C or
SIGTERM. "go run . faults -form cluster" starts it.

  go run . temporal -data /tmp/temporal -listen 127.0.0.1:7233
`

// runTemporal runs the embedded Temporal server on a directory and a fixed port until ctx ends.
func runTemporal(ctx context.Context, args []string, out, _ io.Writer) error {
	flags := flag.NewFlagSet("temporal", flag.ContinueOnError)
	data := flags.String("data", "", "`directory` of the database")
	listen := flags.String("listen", "127.0.0.1:7233", "address of the server, `host:port`")
	if err := help.Parse(flags, temporalUsage, args, out); err != nil {
		return err
	}
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: *data, Listen: *listen, Synchronous: devserver.SynchronousNormal,
		SearchAttributes: scheduler.SearchAttributes(),
		Log:              slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer server.Stop()
	fmt.Fprintln(out, "Temporal", server.Address())
	<-ctx.Done()
	return nil
}
