// Command temporal runs the embedded Temporal server alone, on a directory and a
// fixed port, so that the fault experiments can stop it without the workers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"almanac/devserver"
	"almanac/internal/help"
	"almanac/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "temporal:", err)
		os.Exit(1)
	}
}

const usage = `Usage: go run ./faults/temporal [flags]

Run the embedded Temporal server alone, for the fault experiments, which stop it
without the workers. It prints its address when it is ready, and ends on Ctrl-C or
SIGTERM. "go run ./faults -form cluster" starts it.

  go run ./faults/temporal -data /tmp/temporal -listen 127.0.0.1:7233
`

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("temporal", flag.ContinueOnError)
	data := flags.String("data", "", "`directory` of the database")
	listen := flags.String("listen", "127.0.0.1:7233", "address of the server, `host:port`")
	if err := help.Parse(flags, usage, args, os.Stdout); err != nil {
		return err
	}
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: *data, Listen: *listen, Synchronous: devserver.SynchronousNormal, SearchAttributes: scheduler.SearchAttributes(),
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer server.Stop()
	fmt.Println("Temporal", server.Address())
	<-ctx.Done()
	return nil
}
